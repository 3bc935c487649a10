"""What the elements of an RDD are, by the first of them."""

import enum
import weakref
from collections.abc import Callable
from typing import Any, Literal

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import DataError
from daskdl_bridge.spark import rdd_blocks

__all__ = ["Form", "Keys", "RddKind", "blocks_of"]
__all__ += ["kind_of_element", "kind_of_rdd"]

Form = Literal["columns", "minibatches", "examples"]
"""Columns of a table, or blocks of an RDD: minibatches, or examples still to be cut."""

Keys = Literal["values", "pickles"]
"""How keys of blocks stand beside predictions: as values, or as Spark pickled them."""


# As long as the object lives.
_KINDS: "weakref.WeakKeyDictionary[Any, RddKind]" = weakref.WeakKeyDictionary()


class RddKind(enum.Enum):
    """What an RDD holds; the values are words for messages."""

    DATASETS = "DataSets"
    KEYED_DATASETS = "DataSets with keys"
    ROWS = "rows"
    PAIRS = "keyed features"
    EXAMPLES = "features and labels"
    PATHS = "paths"

    @property
    def keys(self) -> Keys | None:
        """How keys are told; None if there are none."""
        is_keyed = self in (RddKind.KEYED_DATASETS, RddKind.PAIRS)
        return "values" if is_keyed else None


def kind_of_rdd(rdd: Any) -> RddKind:
    """Return what an RDD holds; Spark computes its first element for that, once.

    Raises
    ------
    DataError
        If it is empty, or holds what is no example.
    """
    if rdd not in _KINDS:
        _KINDS[rdd] = _kind_of_first(rdd.take(1))
    return _KINDS[rdd]


def blocks_of(who: str, kind: RddKind) -> tuple[Callable[[Any], Any], Form]:
    """Return what makes rows of blocks of a partition, and what the blocks are.

    Parameters
    ----------
    who : str
        For messages.
    kind : RddKind
        Not that of rows, which are a table as they are.

    Raises
    ------
    DataError
        If the RDD holds paths.
    """
    if kind is RddKind.PATHS:
        raise DataError(
            f"{who}: data must be examples, got an RDD of texts. Paths are given to "
            "fit_paths; nothing of them is written."
        )
    if kind in (RddKind.DATASETS, RddKind.KEYED_DATASETS):
        return rdd_blocks.rows_of_datasets, "minibatches"
    if kind is RddKind.PAIRS:
        return rdd_blocks.rows_of_pairs, "examples"
    return rdd_blocks.rows_of_examples, "examples"


def _kind_of_first(first: list[Any]) -> RddKind:
    if not first:
        raise DataError("Spark RDD: must hold an example, got none.")
    return kind_of_element("Spark RDD", first[0])


def kind_of_element(who: str, element: Any) -> RddKind:
    """Return what a collection holds whose first element is this one.

    Raises
    ------
    DataError
        If it is no example.
    """
    if isinstance(element, DataSet | MultiDataSet):
        has_keys = element.keys is not None
        return RddKind.KEYED_DATASETS if has_keys else RddKind.DATASETS
    if isinstance(element, str):
        return RddKind.PATHS
    if type(element).__name__ in ("Row", "LabeledPoint"):
        return RddKind.ROWS
    if isinstance(element, tuple) and len(element) in (2, 3):
        is_example = len(element) == 2 and _is_features(element[0])
        return RddKind.EXAMPLES if is_example else RddKind.PAIRS
    raise DataError(
        f"{who}: elements must be DataSets, MultiDataSets, LabeledPoints, Rows, (key, "
        "features), (key, features, mask) or (features, labels), got "
        f"{type(element).__module__}.{type(element).__qualname__}."
    )


def _is_features(first: Any) -> bool:
    """Say whether what stands first is no key: an array, or one for each input."""
    several = first if isinstance(first, tuple) else (first,)
    return any(getattr(one, "ndim", 0) > 0 for one in several)
