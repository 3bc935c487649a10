"""The scan of each partition before training: checks, shapes, statistics.

The driver runs `scan_partition` as one task a partition and merges what comes back, so
that data that cannot be used are refused before a session starts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import indexed
from daskdl.data.blocks import BlockSize
from daskdl.data.dataset import DataSet
from daskdl.data.finite import check_finite, check_mask
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.partition import Partition
from daskdl.data.statistics import (
    FeatureStatistics,
    merge_statistics,
    statistics_of,
)
from daskdl.data.time_series import Alignment
from daskdl.errors import OptionError, ShapeError

__all__ = ["PartitionFacts", "merge_facts", "scan_partition"]

Shapes: TypeAlias = tuple[tuple[int, ...], ...]
MaskShapes: TypeAlias = tuple[tuple[int, ...] | None, ...]
Check: TypeAlias = Callable[[str, MultiDataSet], MultiDataSet]


@dataclass(frozen=True)
class PartitionFacts:
    """Rows, shapes and statistics of one partition, or of several together.

    Parameters
    ----------
    name : str
        Of the partition; of the first one where several were merged.
    rows : int
        Number of examples.
    features, labels : tuple of tuple of int
        Shape of one example of each input and output, without the batch axis; of the
        longest one where time series differ in length. Empty labels: there are none.
    statistics, label_statistics : tuple of FeatureStatistics or None
        Of each input, and of each output, if asked for and there are rows.
    features_masks, labels_masks : tuple of (tuple of int or None)
        Shape of the mask of one example of each input and output, None where there is
        none; empty where no input, or output, has one.
    blocks : tuple of BlockSize
        Those in which the examples are loaded.
    skipped : int
        How many rows could not become examples, and were left out or kept as such.
    """

    name: str
    rows: int
    features: Shapes
    labels: Shapes
    statistics: tuple[FeatureStatistics, ...] | None = None
    features_masks: MaskShapes = ()
    labels_masks: MaskShapes = ()
    label_statistics: tuple[FeatureStatistics, ...] | None = None
    blocks: tuple[BlockSize, ...] = ()
    skipped: int = 0

    @property
    def nbytes(self) -> int:
        """What the examples hold when they are loaded."""
        return sum(block.nbytes for block in self.blocks)


def scan_partition(
    partition: Partition,
    *,
    statistics: bool,
    label_statistics: bool = False,
    feature_axis: int = 1,
    check: Check | None = None,
    keep: Callable[[DataSet | MultiDataSet], None] | None = None,
) -> PartitionFacts:
    """Load a partition by blocks, check that its numbers are finite, and describe it.

    Parameters
    ----------
    partition : Partition
    statistics, label_statistics : bool
        Collect what a normalizer needs of features, and of labels, too.
    feature_axis : int
        Axis of features or channels in the arrays with their batch axis.
    check : callable, optional
        Given the name of the partition and its examples, returns them as they are to be
        described, or refuses them. If not given, all numbers must be finite.
    keep : callable, optional
        Given each block as it was loaded.

    Raises
    ------
    DataError
        If the partition cannot be loaded or holds numbers that are not finite; with
        partition, array and row.
    """
    described: list[PartitionFacts] = []
    blocks: list[BlockSize] = []
    skipped = 0
    for rows in partition.load_rows():
        loaded = rows.examples
        skipped += rows.skipped
        if rows.is_valid is not None:
            skipped += int(np.count_nonzero(~rows.is_valid))
        if keep is not None:
            keep(loaded)
        # Drawn from here only to be checked: it is training that data are scanned for.
        examples = MultiDataSet.of(partition.for_training(loaded, 0, 0))
        examples = (check or _finite)(partition.name, examples)
        described.append(
            _described(
                partition.name,
                examples,
                feature_axis if statistics else None,
                feature_axis if label_statistics else None,
            )
        )
        blocks.append(BlockSize(examples.num_examples, loaded.nbytes))
    merged = merge_facts(described, align=partition.align)
    return replace(merged, blocks=tuple(blocks), skipped=skipped)


def _described(
    name: str, examples: MultiDataSet, axis: int | None, label_axis: int | None
) -> PartitionFacts:
    """Describe a block, with statistics along the axes that are given."""
    of_features = of_labels = None
    if axis is not None and examples.num_examples:
        of_features = statistics_of(
            examples.features, examples.features_masks, feature_axis=axis
        )
    if label_axis is not None and examples.num_examples:
        of_labels = statistics_of(
            examples.labels, examples.labels_masks, feature_axis=label_axis
        )
    return PartitionFacts(
        name,
        examples.num_examples,
        tuple(array.shape[1:] for array in examples.features),
        tuple(array.shape[1:] for array in examples.labels),
        of_features,
        _mask_shapes(examples.features_masks),
        _mask_shapes(examples.labels_masks),
        of_labels,
    )


def merge_facts(
    facts: Sequence[PartitionFacts], *, align: Alignment | None = None
) -> PartitionFacts:
    """Describe several partitions as one; partitions without rows are left out.

    Parameters
    ----------
    facts : sequence of PartitionFacts
        At least one, in the order of the partitions: the merged statistics depend on
        it in their last digits.
    align : {"start", "end", "equal_length"}, optional
        Of their time series, which may differ in length unless that must be equal.

    Raises
    ------
    OptionError
        If there is none.
    ShapeError
        If examples differ in their shapes; with the two partitions.
    """
    if not facts:
        raise OptionError("merge_facts: facts must hold at least one, got none.")
    filled = [one for one in facts if one.rows] or facts[:1]
    merged = filled[0]
    for one in filled[1:]:
        merged = PartitionFacts(
            merged.name,
            merged.rows + one.rows,
            _merge_shapes("features", merged, one, align),
            _merge_shapes("labels", merged, one, align),
            _merge_statistics("inputs", merged.statistics, one.statistics),
            _merge_masks(merged.features_masks, one.features_masks),
            _merge_masks(merged.labels_masks, one.labels_masks),
            _merge_statistics("outputs", merged.label_statistics, one.label_statistics),
        )
    return replace(
        merged,
        blocks=tuple(block for one in filled for block in one.blocks),
        skipped=sum(one.skipped for one in facts),
    )


def _finite(name: str, examples: MultiDataSet) -> MultiDataSet:
    arrays = {"features": examples.features, "labels": examples.labels}
    for group, held in arrays.items():
        for index, array in enumerate(held):
            check_finite(name, indexed(group, index, len(held)), array)
    masks = {
        "features_mask": examples.features_masks or (),
        "labels_mask": examples.labels_masks or (),
    }
    for group, given in masks.items():
        for index, mask in enumerate(given):
            if mask is not None:
                check_mask(name, indexed(group, index, len(given)), mask)
    return examples


def _merge_shapes(
    group: str, merged: PartitionFacts, one: PartitionFacts, align: Alignment | None
) -> Shapes:
    may_differ = align != "equal_length"
    first: Shapes = getattr(merged, group)
    second: Shapes = getattr(one, group)
    if first == second:
        return first
    fits = len(first) == len(second) and all(
        a == b or (may_differ and _differ_in_time(a, b, align))
        for a, b in zip(first, second, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{one.name}: {group} of an example must have the shape that they have in "
            f"{merged.name}, {_shown(first)}, got {_shown(second)}."
        )
    return tuple(
        tuple(np.maximum(a, b).tolist()) for a, b in zip(first, second, strict=True)
    )


def _differ_in_time(
    a: tuple[int, ...], b: tuple[int, ...], align: Alignment | None
) -> bool:
    if not len(a) == len(b) == 2:
        return False
    # Steps of series that are aligned may come first, (batch, time, features).
    return a[0] == b[0] or (align is not None and a[1] == b[1])


def _mask_shapes(masks: Sequence[NDArray[Any] | None] | None) -> MaskShapes:
    return tuple(None if mask is None else mask.shape[1:] for mask in masks or ())


def _merge_masks(first: MaskShapes, second: MaskShapes) -> MaskShapes:
    """Return the longer of two masks of each array, or the only one."""
    longer = max(len(first), len(second))
    pairs = zip(first or (None,) * longer, second or (None,) * longer, strict=True)
    return tuple(max(a or (), b or ()) or None for a, b in pairs)


def _merge_statistics(
    what: str,
    first: tuple[FeatureStatistics, ...] | None,
    second: tuple[FeatureStatistics, ...] | None,
) -> tuple[FeatureStatistics, ...] | None:
    if first is None or second is None:
        return None
    return merge_statistics("merge_facts", what, first, second)


def _shown(shapes: Shapes) -> str:
    return ", ".join(str(shape) for shape in shapes) or "none"
