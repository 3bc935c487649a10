"""The updaters by whole-array expressions; `g` becomes the update, the state moves on.

Vectors have shape (n,); `scratch` is overwritten.
"""

from typing import Any, TypeAlias

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace

Number: TypeAlias = np.floating[Any]


def noop(g: FloatArray, scratch: FloatArray) -> None:
    """Leave the gradient `g`, shape (n,), as it is."""


def sgd(g: FloatArray, rate: Number, scratch: FloatArray) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.descent.sgd` says."""
    g *= rate


def nesterovs(
    g: FloatArray, v: FloatArray, rate: Number, mu: Number, scratch: FloatArray
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.descent.nesterovs` says."""
    xp = array_namespace(g)
    v *= mu
    scratch[...] = v
    g *= rate
    v -= g
    xp.multiply(v, mu + 1, out=g)
    xp.subtract(scratch, g, out=g)


def adam(
    g: FloatArray,
    m: FloatArray,
    v: FloatArray,
    beta1: Number,
    beta2: Number,
    rate: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.adam.adam` says."""
    _follow(g, m, beta1, scratch)
    _follow_squares(g, v, beta2)
    _step(g, m, v, rate, epsilon, scratch)


def amsgrad(
    g: FloatArray,
    m: FloatArray,
    v: FloatArray,
    largest: FloatArray,
    beta1: Number,
    beta2: Number,
    rate: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.adam.amsgrad` says."""
    _follow(g, m, beta1, scratch)
    _follow_squares(g, v, beta2)
    array_namespace(g).maximum(largest, v, out=largest)
    _step(g, m, largest, rate, epsilon, scratch)


def nadam(
    g: FloatArray,
    m: FloatArray,
    v: FloatArray,
    beta1: Number,
    beta2: Number,
    rate: Number,
    correction: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.adam.nadam` says."""
    xp = array_namespace(g)
    _follow(g, m, beta1, scratch)
    _follow_squares(g, v, beta2)
    xp.multiply(m, beta1, out=g)
    # What _follow left in scratch is (1 - beta1) g.
    g += scratch
    g /= correction
    g *= rate
    xp.sqrt(v, out=scratch)
    scratch += epsilon
    g /= scratch


def adamax(
    g: FloatArray,
    m: FloatArray,
    s: FloatArray,
    beta1: Number,
    beta2: Number,
    rate: Number,
    floor: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.adam.adamax` says."""
    xp = array_namespace(g)
    _follow(g, m, beta1, scratch)
    s *= beta2
    xp.absolute(g, out=g)
    xp.maximum(s, g, out=s)
    s += floor
    xp.multiply(m, rate, out=g)
    g /= s


def adabelief(
    g: FloatArray,
    m: FloatArray,
    s: FloatArray,
    beta1: Number,
    beta2: Number,
    rate: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.adam.adabelief` says."""
    _follow(g, m, beta1, scratch)
    g -= m
    _follow_squares(g, s, beta2)
    s += epsilon
    _step(g, m, s, rate, epsilon, scratch)


def adagrad(
    g: FloatArray, h: FloatArray, rate: Number, epsilon: Number, scratch: FloatArray
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.squares.adagrad` says."""
    array_namespace(g).multiply(g, g, out=scratch)
    h += scratch
    _divide_by_root(g, h, rate, epsilon, scratch)


def rmsprop(
    g: FloatArray,
    s: FloatArray,
    decay: Number,
    rate: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.squares.rmsprop` says."""
    _follow_squares_of(g, s, decay, scratch)
    _divide_by_root(g, s, rate, epsilon, scratch)


def adadelta(
    g: FloatArray,
    s: FloatArray,
    d: FloatArray,
    rho: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Overwrite `g`, (n,), as :func:`daskdl.nn.updaters.squares.adadelta` says."""
    xp = array_namespace(g)
    _follow_squares_of(g, s, rho, scratch)
    xp.add(s, epsilon, out=scratch)
    xp.sqrt(scratch, out=scratch)
    g /= scratch
    xp.add(d, epsilon, out=scratch)
    xp.sqrt(scratch, out=scratch)
    g *= scratch
    _follow_squares_of(g, d, rho, scratch)


def _follow(g: FloatArray, m: FloatArray, beta: Number, scratch: FloatArray) -> None:
    """Compute ``m = beta m + (1 - beta) g``; scratch becomes ``(1 - beta) g``."""
    m *= beta
    array_namespace(g).multiply(g, 1 - beta, out=scratch)
    m += scratch


def _follow_squares(g: FloatArray, v: FloatArray, beta: Number) -> None:
    """Compute ``v = beta v + (1 - beta) g^2``; g becomes ``(1 - beta) g^2``."""
    v *= beta
    g *= g
    g *= 1 - beta
    v += g


def _follow_squares_of(
    g: FloatArray, squares: FloatArray, decay: Number, scratch: FloatArray
) -> None:
    """Compute ``squares = decay squares + (1 - decay) g^2``; g stays."""
    scratch[...] = g
    _follow_squares(scratch, squares, decay)


def _step(
    g: FloatArray,
    m: FloatArray,
    squares: FloatArray,
    rate: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Compute ``g = rate m / (sqrt(squares) + epsilon)``."""
    xp = array_namespace(g)
    xp.sqrt(squares, out=g)
    g += epsilon
    xp.multiply(m, rate, out=scratch)
    xp.divide(scratch, g, out=g)


def _divide_by_root(
    g: FloatArray,
    squares: FloatArray,
    rate: Number,
    epsilon: Number,
    scratch: FloatArray,
) -> None:
    """Compute ``g = rate g / (sqrt(squares) + epsilon)``."""
    g *= rate
    array_namespace(g).sqrt(squares, out=scratch)
    scratch += epsilon
    g /= scratch
