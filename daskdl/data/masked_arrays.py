"""Arrays of :mod:`numpy.ma`, whose masked elements must not be used as numbers.

``numpy.asarray`` leaves the mask behind and keeps whatever stands below it, often the
fill value of a file. So whatever takes arrays asks here first.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import DataError

__all__ = ["without_mask"]


def without_mask(who: str, name: str, value: Any) -> Any:
    """Return a value of which nothing is masked, or refuse it.

    Parameters
    ----------
    who, name : str
        Of the data and of this array of them, for messages.
    value : array_like
        An array of whatever library, or a list of rows. A lazy one is computed.

    Returns
    -------
    array_like
        `value` itself, or a plain array where it can have a mask.

    Raises
    ------
    DataError
        If an entry is masked, with how many are.
    """
    if isinstance(value, list | tuple):
        # NumPy takes lists of rows for one array.
        has_masks = _holds_masked(value)
        return [without_mask(who, name, v) for v in value] if has_masks else value
    array = _with_its_mask(value)
    if not isinstance(array, np.ma.MaskedArray):
        return array
    n_masked = int(np.count_nonzero(np.ma.getmaskarray(array)))
    if n_masked:
        raise DataError(
            f"{who}: {name} must have no masked entries, got {n_masked:,} of "
            f"{array.size:,}. Fill them (numpy.ma.filled), or give a mask of examples "
            "or time steps beside the array."
        )
    plain: NDArray[Any] = array.data
    return plain


def _holds_masked(value: Any) -> bool:
    """Say whether a list holds arrays that can have a mask, at any depth."""
    return any(
        isinstance(item, np.ma.MaskedArray)
        or (isinstance(item, list | tuple) and _holds_masked(item))
        for item in value
    )


def _with_its_mask(value: Any) -> Any:
    """Return a lazy array computed, any other value as it is.

    xarray makes NaN of what is masked, which is refused as such.
    """
    is_of_dask = type(value).__module__.partition(".")[0] == "dask"
    return value.compute() if is_of_dask and hasattr(value, "numblocks") else value
