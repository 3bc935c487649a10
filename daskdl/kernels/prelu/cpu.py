"""The rectifier with a learned slope compiled for the CPU: one pass over memory.

Slopes come repeated to a strip, as long as an example or as what has one slope after
the other, whichever is shorter::

    for block of _STRIPS strips:
        for strip, for i over the strip: output, or gradients and sums
        for i over the strip: join the sums with those before, in float64
"""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit

# So few numbers lose nothing to speak of when they are added in float32.
_STRIPS = 64


@jit
def prelu_forward(x, slopes, out):
    """Write `x` where it is at least 0, else `slopes` times it. `x` is flat."""
    zero, width = x.dtype.type(0), slopes.size
    for start in range(0, x.size, width):
        value, result = x[start : start + width], out[start : start + width]
        for i in range(value.size):
            number = value[i]
            below = number * slopes[i]
            result[i] = number if number >= zero else below


@jit
def prelu_backward(grad_out, x, slopes, some, total, grad_x):
    """Write the gradient in `x`, and to `total` the sums of that in the slopes.

    `some` is scratch like `slopes`; `total` is as long and float64.
    """
    zero, width = x.dtype.type(0), slopes.size
    for i in range(width):
        some[i] = zero
        total[i] = 0.0
    for block in range(0, x.size, width * _STRIPS):
        for start in range(block, min(block + width * _STRIPS, x.size), width):
            value, grad = x[start : start + width], grad_out[start : start + width]
            result = grad_x[start : start + width]
            for i in range(value.size):
                number, share = value[i], grad[i]
                along, below = share * number, share * slopes[i]
                some[i] += zero if number >= zero else along
                result[i] = share if number >= zero else below
        for i in range(width):
            total[i] += some[i]
            some[i] = zero
