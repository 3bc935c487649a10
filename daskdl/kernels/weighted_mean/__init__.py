"""Means of what several members have: a step from one of them towards another."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.weighted_mean import cpu

# Elements at a time, so that what is between stays in the cache: memory that was just
# asked for costs more than the sums.
_BLOCK = 1 << 14


def add_share(
    base: FloatArray,
    vector: FloatArray,
    origin: FloatArray,
    weight: np.floating,
    *,
    out: FloatArray,
) -> FloatArray:
    """Compute ``out = base + (vector - origin) * weight``, rounded at each operation.

    Parameters
    ----------
    base, vector, origin : ndarray of shape (n,) of NumPy, of one dtype
        Not changed, unless `out` is one of them.
    weight : floating
        Of the same type.
    out : ndarray of shape (n,), same dtype
        Overwritten; shares no memory with the others, or is `base`, or, where that is
        the origin, `vector`.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if is_compiled_for(base, vector, origin, out):
        _compiled(base, vector, origin, weight, out)
        return out
    between = np.empty(min(_BLOCK, len(out)), out.dtype)
    # What is infinite is found, and told, where it is trained.
    with np.errstate(invalid="ignore"):
        for start in range(0, len(out), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(out)))
            change = between[: block.stop - start]
            np.subtract(vector[block], origin[block], out=change)
            np.multiply(change, weight, out=change)
            np.add(base[block], change, out=out[block])
    return out


def _compiled(
    base: FloatArray,
    vector: FloatArray,
    origin: FloatArray,
    weight: np.floating,
    out: FloatArray,
) -> None:
    is_from_base = _are_one(base, origin)
    if _are_one(out, vector) and is_from_base:
        cpu.draw_towards(origin, vector, weight)
    elif not _are_one(out, base):
        cpu.add_share(base, vector, origin, weight, out)
    elif is_from_base:
        cpu.move_towards(origin, vector, weight)
    else:
        cpu.add_share_to(base, vector, origin, weight)


def _are_one(one: FloatArray, other: FloatArray) -> bool:
    """Return whether arrays of one shape have the same elements."""
    return one is other or one.ctypes.data == other.ctypes.data
