"""Sums of products that are written into an array."""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace


def einsum_into(out: FloatArray, *operands: Any) -> FloatArray:
    """Overwrite an array with a sum of products.

    Parameters
    ----------
    out : ndarray of the shape that the subscripts give
        Overwritten.
    *operands : ndarray, str or list of int
        As for :func:`numpy.einsum`, without optional arguments.

    Returns
    -------
    out : ndarray
    """
    xp = array_namespace(out)
    if xp is np:
        np.einsum(*operands, out=out)
    else:
        # CuPy's takes no array to write into.
        out[...] = xp.einsum(*operands)
    return out
