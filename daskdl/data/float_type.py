"""Which numbers float types hold."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["first_ambiguous", "float_type"]


def float_type(wanted: str | None, stored: Iterable[DTypeLike]) -> np.dtype[np.generic]:
    """Return the type that stored numbers are cast to.

    Parameters
    ----------
    wanted : {"float32", "float64"} or None
        None decides by what is stored.
    stored : iterable of dtype
        Of the columns that stand side by side.

    Returns
    -------
    dtype
        For None float32 if it holds every number of these types: floats of 32 bits at
        most, integers of 16 bits at most, booleans. Else float64: the types decide and
        not the values, so that all parts of the data come in the same one.
    """
    if wanted is not None:
        return np.dtype(wanted)
    fits = all(np.promote_types(one, np.float32) == np.float32 for one in stored)
    return np.dtype(np.float32 if fits else np.float64)


def first_ambiguous(dtype: DTypeLike) -> int:
    """Return the first whole number of a float type that may stand for its neighbour.

    It is 2**11 of float16, 2**24 of float32 and 2**53 of float64: one more is rounded
    to it.
    """
    return 1 << (int(np.finfo(np.dtype(dtype)).nmant) + 1)
