"""Labels that are texts: each is the number of its name among those of the classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from daskdl.checks import some
from daskdl.errors import ColumnError, DataError
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.error_location import ErrorLocation, first_true

__all__ = ["TextLabelError", "are_no_classes", "is_text", "numbers_of_classes"]


class TextLabelError(ColumnError):
    """A label is text, and nobody said which classes there are.

    Parameters
    ----------
    who : str
        For messages: a path.
    name : str
        Of the column.
    arrow_type : pyarrow.DataType
    hint : str
        What to do.
    first : str
        The first value, in words.
    """

    def __init__(
        self, who: str, name: str, arrow_type: Any, hint: str, first: str = ""
    ) -> None:
        super().__init__(
            f"{who}: column {name!r} must hold numbers, arrays of numbers, vectors, "
            f"bytes or images, got {arrow_type}{first}.{hint}"
        )
        self.name = name
        self._told = (who, name, arrow_type, hint)

    def __reduce__(self) -> Any:
        return type(self), self._told

    def showing(self, value: Any) -> "TextLabelError":
        """Return the error with the first value of the column."""
        return TextLabelError(*self._told, first=f", the first is {value!r}")


def is_text(arrow_type: Any) -> bool:
    """Tell whether a type is text, or a dictionary of texts."""
    if pa.types.is_dictionary(arrow_type):
        return is_text(arrow_type.value_type)
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def are_no_classes(column: Any, class_names: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which texts name no class; null does not.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Of texts.
    class_names : sequence of str

    Returns
    -------
    ndarray of shape (rows,), bool
    """
    found: NDArray[np.bool_] = as_numpy(_indices(column, class_names).is_null())
    return found


def numbers_of_classes(
    column: Any, class_names: Sequence[str], place: ErrorLocation
) -> NDArray[np.float64]:
    """Return the numbers of the classes that texts name.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Of texts.
    class_names : sequence of str
        In the order of their numbers.
    place : ErrorLocation
        For messages.

    Returns
    -------
    ndarray of shape (rows,), float64

    Raises
    ------
    DataError
        If a row is null, or its text names no class.
    """
    place.refuse_nulls(as_numpy(column.is_null()))
    indices = _indices(column, class_names)
    if indices.null_count:
        row = first_true(as_numpy(indices.is_null()))
        raise DataError(
            f"{place} must hold a name of class_names, {some(class_names)}, got "
            f"{column[row].as_py()!r} in {place.row(row)}."
        )
    return np.asarray(as_numpy(indices), np.float64)


def _indices(column: Any, class_names: Sequence[str]) -> Any:
    return pc.index_in(column, pa.array(class_names, column.type))
