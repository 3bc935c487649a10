"""What the elements of an RDD are, by the first of them."""

import weakref
from collections.abc import Callable
from typing import Any, Literal

from daskdl.errors import DataError
from daskdl_bridge import element_blocks
from daskdl_bridge.element_kinds import ElementKind, kind_of_element
from daskdl_bridge.spark.executor_errors import telling_executor_errors

__all__ = ["Form", "blocks_of", "kind_of_rdd"]

Form = Literal["columns", "minibatches", "examples"]
"""Columns of a table, or blocks of an RDD: minibatches, or examples still to be cut."""

# As long as the object lives.
_KINDS: "weakref.WeakKeyDictionary[Any, ElementKind]" = weakref.WeakKeyDictionary()


def kind_of_rdd(rdd: Any) -> ElementKind:
    """Return what an RDD holds; Spark computes its first element for that, once.

    Raises
    ------
    DataError
        If it is empty, or holds what is no example.
    """
    if rdd not in _KINDS:
        with telling_executor_errors("Spark RDD"):
            first = rdd.take(1)
        _KINDS[rdd] = _kind_of_first(first)
    return _KINDS[rdd]


def blocks_of(who: str, kind: ElementKind) -> tuple[Callable[[Any], Any], Form]:
    """Return what makes rows of blocks of a partition, and what the blocks are.

    Parameters
    ----------
    who : str
        For messages.
    kind : ElementKind
        Not that of rows, which are a table as they are.

    Raises
    ------
    DataError
        If the RDD holds paths.
    """
    if kind is ElementKind.PATHS:
        raise DataError(
            f"{who}: data must be examples, got an RDD of texts. Paths are given to "
            "fit_paths; nothing of them is written."
        )
    if kind in (ElementKind.DATASETS, ElementKind.KEYED_DATASETS):
        return element_blocks.rows_of_datasets, "minibatches"
    if kind is ElementKind.PAIRS:
        return element_blocks.rows_of_pairs, "examples"
    return element_blocks.rows_of_examples, "examples"


def _kind_of_first(first: list[Any]) -> ElementKind:
    if not first:
        raise DataError("Spark RDD: must hold an example, got none.")
    return kind_of_element("Spark RDD", first[0])
