"""Columns of values in memory, whose types nobody has announced."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from daskdl.errors import ColumnError
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.view_types import plain_column

__all__ = ["held_column"]


def held_column(make: Callable[[], Any], place: ErrorLocation) -> Any:
    """Return a column; of nothing but null, as of numbers.

    Parameters
    ----------
    make : callable
        Returns it as a pyarrow.Array.
    place : ErrorLocation
        For messages.

    Raises
    ------
    ColumnError
        If Arrow has no type for what it holds.
    """
    try:
        found = plain_column(make())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"{place} must hold numbers, texts or lists of one type, got what Arrow "
            f"has no type for: {error}"
        ) from error
    return found.cast(pa.float64()) if pa.types.is_null(found.type) else found
