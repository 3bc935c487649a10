"""Matrix products, by the library that is best where the arrays lie."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda import blas
from daskdl.kernels.dispatch import is_on_device


def matmul(
    a: FloatArray, b: FloatArray, *, adds: bool = False, out: FloatArray
) -> FloatArray:
    """Compute ``a @ b``, or add it to `out`.

    Parameters
    ----------
    a, b : ndarray of shape (m, k) and (k, n)
        Not changed.
    adds : bool
        Whether to add to what is there.
    out : ndarray of shape (m, n), same dtype
        Overwritten, or added to. Shares no memory with the others.

    Returns
    -------
    out : ndarray
    """
    if is_on_device(a, b, out) and blas.can_multiply(a, b, out):
        blas.multiply(a, b, adds=adds, out=out)
    elif adds:
        out += array_namespace(a).matmul(a, b)
    else:
        array_namespace(a).matmul(a, b, out=out)
    return out
