"""The float type that holds what is stored."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["float_type"]


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
