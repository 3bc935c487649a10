"""The updaters compiled for the CPU: each vector is read and written once.

Each takes the vectors of its namesake in :mod:`.rules`, which says what it computes,
then its numbers, all of one type; and last by what the gradient is divided, and the
parameters or None. Without parameters the subtraction is not compiled at all::

    for chunk of the vectors:               # fits the first-level cache
        for i over the chunk: the rule      # from memory
        for i over the chunk: subtract      # the update is cached

The subtraction is a loop of its own because LLVM gives vector code up where a loop
would have to be sure that more than four arrays do not overlap.

Nothing may be reordered here: cluster and single process agree bit for bit, though one
of them does in three passes what the other does in one.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.kernels.jit import jit

# Five vectors of float64 are 40 KiB, a first-level cache; a chunk's overhead is lost
# in hundreds of vector operations.
_CHUNK = 1024
_LEAST_SINGLE = float(np.finfo(np.float32).tiny)
_LEAST_DOUBLE = float(np.finfo(np.float64).tiny)


@jit
def noop(gradient, divisor, params):
    """Divide only."""
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        for i in range(g.size):
            g[i] = g[i] / divisor
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def sgd(gradient, rate, divisor, params):
    """See :mod:`.rules`."""
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        for i in range(g.size):
            g[i] = g[i] / divisor * rate
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def nesterovs(gradient, velocity, rate, mu, divisor, params):
    """See :mod:`.rules`."""
    both = mu + gradient.dtype.type(1)
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        v = velocity[start : start + _CHUNK]
        for i in range(g.size):
            slowed = v[i] * mu
            moved = slowed - g[i] / divisor * rate
            v[i] = _normal(moved, least)
            g[i] = slowed - moved * both
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


def adam(gradient, means, squares, *numbers):
    """See :mod:`.rules`."""
    amsgrad(gradient, means, squares, None, *numbers)


@jit
def amsgrad(
    gradient, means, squares, most, beta1, beta2, rate, epsilon, divisor, params
):
    """See :mod:`.rules`; without `most` this is Adam."""
    one = gradient.dtype.type(1)
    new1, new2 = one - beta1, one - beta2
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        m = means[start : start + _CHUNK]
        v = squares[start : start + _CHUNK]
        if most is not None:
            largest = most[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            mean = m[i] * beta1 + slope * new1
            square = v[i] * beta2 + slope * slope * new2
            m[i] = _normal(mean, least)
            v[i] = _normal(square, least)
            if most is not None:
                square = _maximum(largest[i], square)
                largest[i] = square
            g[i] = mean * rate / (np.sqrt(square) + epsilon)
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def nadam(
    gradient, means, squares, beta1, beta2, rate, correction, epsilon, divisor, params
):
    """See :mod:`.rules`."""
    one = gradient.dtype.type(1)
    new1, new2 = one - beta1, one - beta2
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        m = means[start : start + _CHUNK]
        v = squares[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            fresh = slope * new1
            mean = m[i] * beta1 + fresh
            square = v[i] * beta2 + slope * slope * new2
            m[i] = _normal(mean, least)
            v[i] = _normal(square, least)
            ahead = (mean * beta1 + fresh) / correction * rate
            g[i] = ahead / (np.sqrt(square) + epsilon)
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def adamax(gradient, means, norms, beta1, beta2, rate, floor, divisor, params):
    """See :mod:`.rules`."""
    new1 = gradient.dtype.type(1) - beta1
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        m = means[start : start + _CHUNK]
        s = norms[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            mean = m[i] * beta1 + slope * new1
            norm = _maximum(s[i] * beta2, abs(slope)) + floor
            m[i] = _normal(mean, least)
            s[i] = norm
            g[i] = mean * rate / norm
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def adabelief(gradient, means, squares, beta1, beta2, rate, epsilon, divisor, params):
    """See :mod:`.rules`."""
    one = gradient.dtype.type(1)
    new1, new2 = one - beta1, one - beta2
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        m = means[start : start + _CHUNK]
        s = squares[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            mean = m[i] * beta1 + slope * new1
            surprise = slope - mean
            square = s[i] * beta2 + surprise * surprise * new2 + epsilon
            m[i] = _normal(mean, least)
            s[i] = square
            g[i] = mean * rate / (np.sqrt(square) + epsilon)
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def adagrad(gradient, squares, rate, epsilon, divisor, params):
    """See :mod:`.rules`."""
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        h = squares[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            square = h[i] + slope * slope
            h[i] = square
            g[i] = slope * rate / (np.sqrt(square) + epsilon)
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def rmsprop(gradient, squares, decay, rate, epsilon, divisor, params):
    """See :mod:`.rules`."""
    new = gradient.dtype.type(1) - decay
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        s = squares[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            square = s[i] * decay + slope * slope * new
            s[i] = _normal(square, least)
            g[i] = slope * rate / (np.sqrt(square) + epsilon)
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def adadelta(gradient, squares, updates, rho, epsilon, divisor, params):
    """See :mod:`.rules`."""
    new = gradient.dtype.type(1) - rho
    least = _least_normal(gradient)
    for start in range(0, gradient.size, _CHUNK):
        g = gradient[start : start + _CHUNK]
        s = squares[start : start + _CHUNK]
        d = updates[start : start + _CHUNK]
        for i in range(g.size):
            slope = g[i] / divisor
            square = s[i] * rho + slope * slope * new
            before = d[i]
            step = slope / np.sqrt(square + epsilon) * np.sqrt(before + epsilon)
            s[i] = _normal(square, least)
            d[i] = _normal(before * rho + step * step * new, least)
            g[i] = step
        if params is not None:
            _subtract(params[start : start + _CHUNK], g)


@jit
def _least_normal(vector):
    """Return the least number of a vector's type that has all its digits."""
    least = _LEAST_SINGLE if vector.itemsize == 4 else _LEAST_DOUBLE
    return vector.dtype.type(least)


@jit
def _normal(number, least):
    """Return the number, or 0 where it has fewer digits than its type.

    What decays in each iteration, of a weight whose gradient is 0, as that of a pixel
    which is always black, ends below `least`, where processors take many times as long.
    """
    return least - least if (abs(number) < least) & (number != 0) else number


@jit
def _maximum(first, second):
    """Return the larger number, or NaN if one is."""
    return first if (first > second) | (first != first) else second


@jit
def _subtract(params, step):
    for i in range(params.size):
        params[i] -= step[i]
