"""Classes of examples, and how many examples each has."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.labels import check_classes
from daskdl.data.pairs import Examples
from daskdl.data.sources.partition import Partition
from daskdl.errors import DataError

__all__ = ["ClassCounts", "classes_of_examples", "count_classes", "merge_counts"]

_Counts = NDArray[np.int64]

# The largest class number that is believed: a column of something else, such as a
# price, would make a table of any length.
_MOST_CLASSES = 1 << 20


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How many examples each class has.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,), int64
        By the number of the class.
    class_names : tuple of str, optional
        In the same order, if what is stored names them.

    Examples
    --------
    >>> ClassCounts(np.array([60, 30, 0])).weights
    (0.75, 1.5, 0.0)
    """

    counts: _Counts
    class_names: tuple[str, ...] | None = None

    @property
    def weights(self) -> tuple[float, ...]:
        """Inverse frequencies, for the `weights` of a loss.

        ``examples / (classes that occur * counts)``, so that all classes count alike
        and the mean over the examples is 1. A class without examples has 0.
        """
        occurs = self.counts > 0
        total = int(self.counts.sum()) / max(int(occurs.sum()), 1)
        weights = np.zeros(len(self.counts))
        weights[occurs] = total / self.counts[occurs]
        return tuple(weights.tolist())


def classes_of_examples(name: str, examples: Examples) -> NDArray[np.int64]:
    """Return the number of the class of each example.

    Parameters
    ----------
    name : str
        Of the partition, for messages.
    examples : DataSet, or MultiDataSet of one output
        With labels of shape (batch, n_classes), one-hot rows, or (batch, 1), numbers of
        classes.

    Returns
    -------
    ndarray of shape (batch,), int64

    Raises
    ------
    DataError
        If labels are missing or are no single class an example; with the first such
        row.
    """
    labels = _labels_of(name, examples)
    if labels is None or labels.ndim != 2:
        got = "none" if labels is None else f"shape {labels.shape}"
        raise DataError(
            f"{name}: labels must hold one class an example, as one-hot rows or a "
            f"column of numbers, got {got}."
        )
    if labels.shape[1] == 1:
        check_classes(f"{name}: labels", labels, _MOST_CLASSES)
        numbers: _Counts = labels[:, 0].astype(np.int64)
        return numbers
    is_one_hot = (labels == 1).sum(axis=1) == 1
    is_one_hot &= (labels != 0).sum(axis=1) == 1
    if not is_one_hot.all():
        row = int(np.argmin(is_one_hot))
        raise DataError(
            f"{name}: labels must be one-hot rows to tell a class, got "
            f"{labels[row].tolist()[:5]} in row {row}."
        )
    classes: _Counts = labels.argmax(axis=1).astype(np.int64)
    return classes


def count_classes(partition: Partition) -> _Counts:
    """Return how many examples of a partition each class has, block by block."""
    return merge_counts(
        np.bincount(
            classes_of_examples(partition.name, block),
            minlength=_n_classes(block),
        )
        for block in partition.load_blocks()
        if block.num_examples
    )


def merge_counts(counts: Iterable[_Counts]) -> _Counts:
    """Add counts up; parts that hold no example of the last classes are shorter."""
    merged = np.zeros(0, np.int64)
    for one in counts:
        longer = max(len(merged), len(one))
        merged = np.pad(merged, (0, longer - len(merged)))
        merged[: len(one)] += one
    return merged


def _labels_of(name: str, examples: Examples) -> NDArray[Any] | None:
    if isinstance(examples, DataSet):
        return examples.labels
    if len(examples.labels) > 1:
        raise DataError(
            f"{name}: labels must be of one output to tell a class, got "
            f"{len(examples.labels)} outputs."
        )
    return examples.labels[0] if examples.labels else None


def _n_classes(examples: Examples) -> int:
    """Return the number of classes that labels tell by their width."""
    labels = examples.labels if isinstance(examples, DataSet) else examples.labels[0]
    return 0 if labels is None or labels.shape[1] == 1 else labels.shape[1]
