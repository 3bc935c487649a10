"""Metadata of examples: where they came from, and label names."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daskdl.errors import DataError, ShapeError

__all__ = [
    "as_metadata",
    "as_names",
    "merge_metadata",
    "merge_names",
    "take_metadata",
]


def as_metadata(
    who: str, values: Sequence[Any] | None, n_examples: int
) -> tuple[Any, ...] | None:
    """Return metadata as a tuple; one that is a tuple already is the same object.

    Raises
    ------
    ShapeError
        If there is not one entry an example.
    """
    if values is None:
        return None
    if len(values) != n_examples:
        raise ShapeError(
            f"{who}: example_metadata must have one entry for each of {n_examples} "
            f"examples, got {len(values)}. Files can be read with_metadata=False."
        )
    return values if isinstance(values, tuple) else tuple(values)


def as_names(who: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names of labels as a tuple.

    Raises
    ------
    DataError
        If they are no texts.
    """
    if values is None:
        return None
    if isinstance(values, str) or not all(isinstance(one, str) for one in values):
        raise DataError(f"{who}: label_names must be texts, got {values!r}.")
    return values if isinstance(values, tuple) else tuple(values)


def take_metadata(values: tuple[Any, ...] | None, rows: Any) -> tuple[Any, ...] | None:
    """Return the metadata of some rows, which a slice or an array of numbers names."""
    if values is None:
        return None
    chosen = range(len(values))[rows] if isinstance(rows, slice) else np.asarray(rows)
    return tuple(values[row] for row in chosen)


def merge_metadata(
    parts: Sequence[tuple[int, tuple[Any, ...] | None]],
) -> tuple[Any, ...] | None:
    """Join metadata; examples of data sets without any get None.

    Parameters
    ----------
    parts : sequence of (int, tuple or None)
        Number of examples and metadata of each data set.

    Returns
    -------
    tuple or None
        None if no data set has any.
    """
    if all(values is None for _, values in parts):
        return None
    return tuple(
        value
        for n_examples, values in parts
        for value in (values if values is not None else (None,) * n_examples)
    )


def merge_names(
    who: str, names: Sequence[tuple[str, ...] | None]
) -> tuple[str, ...] | None:
    """Return the names of labels that some data sets share; None if none has any.

    Raises
    ------
    DataError
        If they differ.
    """
    given = [one for one in names if one is not None]
    for one in given[1:]:
        if tuple(one) != tuple(given[0]):
            raise DataError(
                f"{who}: label_names must be the same everywhere, got "
                f"{list(given[0])!r} and {list(one)!r}."
            )
    return given[0] if given else None
