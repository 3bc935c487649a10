"""Labels for networks: one-hot rows of class numbers, or plain numbers."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.data.examples import first_bad_row
from daskdl.data.row_number import RowNumber, row_in_words
from daskdl.errors import ColumnError, DataError

__all__ = ["check_classes", "class_numbers", "labels_of", "one_hot"]


def labels_of(
    values: NDArray[Any],
    n_classes: int | None,
    *,
    name: str,
    column: str,
    dtype: DTypeLike = np.float32,
    first_row: RowNumber = 0,
) -> NDArray[Any]:
    """Turn a label column into labels of shape (batch, n_out) or (batch, ...).

    Parameters
    ----------
    values : ndarray of shape (batch,) or (batch, ...)
        Class numbers where `n_classes` is given and there is one an example (or rows
        with one entry); numbers to be predicted, or one-hot rows, otherwise.
    n_classes : int or None
        Number of classes. Rows of numbers must then be `n_classes` wide.
    name, column : str
        Of the partition and the column, for messages.
    dtype : dtype
        Of the labels.
    first_row : int or RowNumber
        Number of the first row in the partition, for messages.

    Returns
    -------
    ndarray of shape (batch, n_classes), or (batch, 1) for one number an example, or as
    given

    Raises
    ------
    DataError
        If a class number is no integer from 0 to n_classes - 1, or a label is missing
        or not finite.
    ColumnError
        If rows of numbers have another width than `n_classes`.
    """
    values = np.asarray(values)
    is_column = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    if n_classes is not None and is_column:
        numbers = class_numbers(
            values.reshape(len(values)),
            n_classes,
            name=name,
            column=column,
            first_row=first_row,
        )
        return one_hot(numbers, n_classes, dtype=dtype)
    if n_classes is not None and values.shape[1] != n_classes:
        raise ColumnError(
            f"{name}: column {column!r} must hold one integer or {n_classes} numbers "
            f"a row, got {values.shape[1]}."
        )
    check_labels_finite(values, name=name, column=column, first_row=first_row)
    rows = values[:, None] if values.ndim == 1 else values
    return rows.astype(dtype, copy=False)


def class_numbers(
    values: NDArray[Any],
    n_classes: int,
    *,
    name: str,
    column: str,
    first_row: RowNumber = 0,
) -> NDArray[np.intp]:
    """Return a column of class numbers as integers.

    Parameters
    ----------
    values : ndarray of shape (batch,)
        Integers, floats without a fraction, or booleans. None and NaN are refused.
    n_classes, name, column, first_row
        As in `labels_of`.

    Raises
    ------
    DataError
        If a value is no integer from 0 to n_classes - 1; with the first such row.
    """
    numbers, is_number = _as_numbers(values)
    with np.errstate(invalid="ignore"):
        is_class = (
            is_number
            & (numbers >= 0)
            & (numbers < n_classes)
            & (numbers == np.floor(numbers))
        )
    if not is_class.all():
        row = int(np.argmin(is_class))
        raise DataError(
            f"{name}: column {column!r} must hold integers from 0 to {n_classes - 1}, "
            f"got {_plain(values[row])} in {row_in_words(first_row + row)}."
        )
    return numbers.astype(np.intp)


def check_classes(
    what: str,
    numbers: NDArray[Any],
    n_classes: int,
    *,
    counts: NDArray[np.bool_] | None = None,
) -> None:
    """Refuse labels that are no numbers of classes: 0 to `n_classes` - 1, whole.

    Parameters
    ----------
    what : str
        For messages: what the numbers are, and whose.
    numbers : ndarray of shape (batch, ...), bool, int or float
    n_classes : int
    counts : ndarray of bool, optional
        Broadcasts to `numbers`: where it is False, anything may stand.

    Raises
    ------
    DataError
        With the first such number and its row.
    """
    is_class = (numbers >= 0) & (numbers < n_classes) & (numbers == np.floor(numbers))
    if counts is not None:
        is_class |= ~counts
    if not is_class.all():
        place = np.unravel_index(int(np.argmin(is_class)), numbers.shape)
        raise DataError(
            f"{what} must hold integers from 0 to {n_classes - 1}, got "
            f"{_plain(numbers[place])} in row {int(place[0])}."
        )


def one_hot(
    numbers: NDArray[np.integer[Any]], n_classes: int, *, dtype: DTypeLike = np.float32
) -> NDArray[Any]:
    """Return rows with a single 1, at the number of the class.

    Parameters
    ----------
    numbers : ndarray of shape (batch,), integer
        From 0 to n_classes - 1; not checked again.

    Returns
    -------
    ndarray of shape (batch, n_classes)
    """
    rows = np.zeros((len(numbers), n_classes), dtype)
    rows[np.arange(len(numbers)), numbers] = 1
    return rows


def check_labels_finite(
    values: NDArray[Any], *, name: str, column: str, first_row: RowNumber = 0
) -> None:
    """Refuse labels that are missing, no numbers, or not finite.

    `values` is of shape (rows, ...).

    Raises
    ------
    DataError
        With partition, column, the first bad row and its value.
    """
    found = first_bad_row(values)
    if found is not None:
        row, value = found
        raise DataError(
            f"{name}: column {column!r} must hold finite numbers, got "
            f"{_plain(value)} in {row_in_words(first_row + row)}."
        )


def _as_numbers(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64), np.ones(len(values), dtype=bool)
    # Python objects: None among numbers, text, decimals.
    is_number = np.array(
        [isinstance(v, int | float | np.number | np.bool_) for v in values], dtype=bool
    )
    numbers = np.zeros(len(values))
    numbers[is_number] = values[is_number].astype(np.float64)
    return numbers, is_number


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    plain = value.item() if isinstance(value, np.generic) else value
    # Readers hand integers over as floats: 10 is what is stored, not 10.0.
    is_whole = isinstance(plain, float) and plain.is_integer()
    return repr(int(plain) if is_whole else plain)
