"""Examples from columns, for dask, xarray and stored tables alike."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.data.batch_arrays import keys_side_by_side
from daskdl.data.dataset import DataSet
from daskdl.data.examples import checked_features, checked_mask, first_bad_row
from daskdl.data.float_type import float_type
from daskdl.data.labels import labels_of
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import Columns, SourceOptions
from daskdl.errors import ColumnError, OptionError

__all__ = ["ReadColumn", "check_columns_named", "columns_of", "examples_from_columns"]

ReadColumn: TypeAlias = Callable[[str], NDArray[Any]]
"""Returns a column as an array of shape (batch,) or (batch, ...)."""


def check_columns_named(who: str, options: SourceOptions) -> None:
    """Refuse options that do not say which columns hold features, or labels.

    Raises
    ------
    OptionError
    """
    if options.features is None:
        raise OptionError(f"{who}: features must name the columns to use, got None.")
    if options.require_labels and options.label is None:
        raise OptionError(
            f"{who}: label must name a column, got None. "
            "Pass require_labels=False for data without labels."
        )


def columns_of(options: SourceOptions) -> list[str]:
    """Return the names of all columns that the options need, each once, in order."""
    groups: list[Columns | dict[str, Columns] | None] = [
        options.features,
        options.label,
        options.key,
        options.features_mask,
        options.labels_mask,
    ]
    names: dict[str, None] = {}
    for group in groups:
        for columns in group.values() if isinstance(group, dict) else [group]:
            names.update(dict.fromkeys(_names(columns)))
    return list(names)


def examples_from_columns(
    read: ReadColumn, options: SourceOptions, *, name: str
) -> DataSet | MultiDataSet:
    """Make examples of columns, as the options say.

    Parameters
    ----------
    read : callable
        Gives a column by its name; called for the columns of `columns_of` only.
    options : SourceOptions
        With `features` set.
    name : str
        Of the partition, for messages.

    Returns
    -------
    DataSet, or MultiDataSet if the options name inputs

    Raises
    ------
    DataError
        If a value cannot be used; with partition, column and row.
    ColumnError
        If a column has the wrong width, or columns cannot stand side by side.
    """
    keys = keys_side_by_side([read(column) for column in _names(options.key)])
    masks = [
        None if column is None else _mask(read, column, options, name=name)
        for column in (options.features_mask, options.labels_mask)
    ]
    if not isinstance(options.features, dict):
        return DataSet(
            _features(read, options.features, options, name=name),
            _labels(read, options.label, options, options.classes_of(0), name=name),
            *masks,
            keys=keys,
        )
    features = [
        _features(read, columns, options, name=name)
        for columns in options.features.values()
    ]
    label = options.label
    outputs = list(label.values()) if isinstance(label, dict) else [label]
    labels = [
        _labels(read, columns, options, options.classes_of(index), name=name)
        for index, columns in enumerate(outputs)
        if columns is not None
    ]
    return MultiDataSet(
        features,
        labels,
        _for_each(masks[0], len(features)),
        _for_each(masks[1], len(labels)),
        keys=keys,
    )


def _features(
    read: ReadColumn, columns: Columns | None, options: SourceOptions, *, name: str
) -> NDArray[Any]:
    values = _side_by_side(read, columns, options.dtype, name=name)
    return checked_features(
        values,
        name=name,
        column=", ".join(_names(columns)),
        n_features=options.n_features,
        feature_shape=options.feature_shape,
        dtype=float_type(options.dtype, [values.dtype]),
    )


def _labels(
    read: ReadColumn,
    columns: Any,
    options: SourceOptions,
    n_classes: int | None,
    *,
    name: str,
) -> NDArray[Any] | None:
    if columns is None:
        return None
    values = _side_by_side(read, columns, options.dtype, name=name)
    return labels_of(
        values,
        n_classes,
        name=name,
        column=", ".join(_names(columns)),
        dtype=float_type(options.dtype, [values.dtype]),
    )


def _mask(
    read: ReadColumn, column: str, options: SourceOptions, *, name: str
) -> NDArray[Any]:
    values = read(column)
    dtype = float_type(options.dtype, [values.dtype])
    return checked_mask(values, name=name, column=column, dtype=dtype)


def _side_by_side(
    read: ReadColumn, columns: Columns | None, wanted: str | None, *, name: str
) -> NDArray[Any]:
    if isinstance(columns, str):
        return read(columns)
    arrays = []
    for column in _names(columns):
        values = read(column)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise ColumnError(
                f"{name}: column {column!r} must hold a number or a row of numbers an "
                f"example to stand beside others, got shape {values.shape[1:]}."
            )
        # Here and not after joining, so that the message names the one column.
        dtype = float_type(wanted, [values.dtype])
        if first_bad_row(values, dtype) is not None:
            checked_features(values, name=name, column=column, dtype=dtype)
        arrays.append(values)
    return np.concatenate(arrays, axis=1)


def _names(columns: Columns | None) -> Sequence[str]:
    if columns is None:
        return ()
    return (columns,) if isinstance(columns, str) else columns


def _for_each(mask: NDArray[Any] | None, n: int) -> list[NDArray[Any]] | None:
    # One mask column serves all inputs (or outputs) that are time series together.
    return None if mask is None else [mask] * n
