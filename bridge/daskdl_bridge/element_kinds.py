"""What the elements of an RDD or a Dask bag are."""

import enum
from typing import Any, Literal

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import DataError

__all__ = ["ElementKind", "Keys", "kind_of_element"]

Keys = Literal["values", "pickles"]
"""How keys of blocks stand beside predictions: as values, or as Spark pickled them."""


class ElementKind(enum.Enum):
    """What a collection holds; the values are words for messages."""

    DATASETS = "DataSets"
    KEYED_DATASETS = "DataSets with keys"
    ROWS = "rows"
    PAIRS = "keyed features"
    EXAMPLES = "features and labels"
    PATHS = "paths"

    @property
    def keys(self) -> Keys | None:
        """How keys are told; None if there are none."""
        is_keyed = self in (ElementKind.KEYED_DATASETS, ElementKind.PAIRS)
        return "values" if is_keyed else None


def kind_of_element(who: str, element: Any) -> ElementKind:
    """Return what a collection holds whose first element is this one.

    Raises
    ------
    DataError
        If it is no example.
    """
    if isinstance(element, DataSet | MultiDataSet):
        has_keys = element.keys is not None
        return ElementKind.KEYED_DATASETS if has_keys else ElementKind.DATASETS
    if isinstance(element, str):
        return ElementKind.PATHS
    if type(element).__name__ in ("Row", "LabeledPoint"):
        return ElementKind.ROWS
    if isinstance(element, tuple) and len(element) in (2, 3):
        is_example = len(element) == 2 and _is_features(element[0])
        return ElementKind.EXAMPLES if is_example else ElementKind.PAIRS
    raise DataError(
        f"{who}: elements must be DataSets, MultiDataSets, LabeledPoints, Rows, (key, "
        "features), (key, features, mask) or (features, labels), got "
        f"{type(element).__module__}.{type(element).__qualname__}."
    )


def _is_features(first: Any) -> bool:
    """Say whether what stands first is no key: an array, or one for each input."""
    several = first if isinstance(first, tuple) else (first,)
    return any(getattr(one, "ndim", 0) > 0 for one in several)
