"""Where a shortcut meets the block it goes around: a sum and its rectifier at once."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import gpu
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.shortcut import cpu


def add_relu(first: FloatArray, second: FloatArray, *, out: FloatArray) -> FloatArray:
    """Compute ``out = max(first + second, 0)``; NaN stays NaN.

    The gradient is that of :func:`daskdl.kernels.activation.relu_backward`, the same
    for both.

    Parameters
    ----------
    first, second : ndarray of one dtype
        Of one shape, or 1 where the other is longer. Not changed.
    out : ndarray of the shape of the sum, same dtype
        Overwritten; shares no memory with the others.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    He et al., *Deep Residual Learning for Image Recognition*, 2015, figure 2.
    """
    of_one_shape = first.shape == second.shape == out.shape
    if of_one_shape and is_compiled_for(first, second, out):
        cpu.add_relu(first.reshape(-1), second.reshape(-1), out.reshape(-1))
        return out
    if of_one_shape and gpu.takes(first, second, out):
        gpu.add_relu(first, second, out)
        return out
    xp = array_namespace(out)
    xp.add(first, second, out=out)
    xp.maximum(out, 0, out=out)
    return out
