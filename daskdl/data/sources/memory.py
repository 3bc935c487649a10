"""Data sets and arrays that the caller holds in memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.data.class_names import agreed_names
from daskdl.data.dataset import DataSet
from daskdl.data.examples import checked_features
from daskdl.data.float_type import float_type
from daskdl.data.labels import labels_of
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pairs import Examples, as_examples, is_pair
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import (
    COLUMN_OPTIONS,
    refuse_given,
    refuse_unused,
)
from daskdl.errors import DataError, OptionError

__all__ = ["MemoryPartition", "MemorySources"]

# Packages whose arrays have a source of their own.
_OF_OTHERS = ("dask", "dask_expr", "xarray")


@dataclass(frozen=True, eq=False)
class MemoryPartition(Partition):
    """A data set that travels with its partition.

    Parameters
    ----------
    name : str
        What messages call it.
    examples : DataSet or MultiDataSet
        Given back by `load`, shaped as the options say. The dtype stays as it is.
    options : SourceOptions
    """

    name: str
    examples: Examples
    options: SourceOptions

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of examples."""
        return self.examples.num_examples

    @property
    def class_names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Names of the columns of the labels."""
        return getattr(self.examples, "label_names", None)

    def has_keys(self) -> bool:
        """Say whether the examples have keys; see `Partition.has_keys`."""
        return self.examples.keys is not None

    def load(self) -> Examples:
        """Return the examples; see `Partition.load`."""
        if isinstance(self.examples, MultiDataSet):
            return self.examples
        return _shaped(self.examples, self.options, name=self.name)


class MemorySources:
    """Opens data sets, arrays and pairs of arrays in memory, or lists of them.

    A list is one of minibatches; everything else is examples that are still to be cut.
    """

    def accepts(self, data: Any) -> bool:
        """Say whether the data is of one of these kinds."""
        if isinstance(data, DataSet | MultiDataSet | np.ndarray):
            return True
        if not isinstance(data, list | tuple):
            return False
        return _is_pair(data) or all(
            isinstance(item, DataSet | MultiDataSet) or _is_pair(item) for item in data
        )

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Wrap the data in partitions that carry them.

        Raises
        ------
        OptionError
            If an option is set that makes no sense for data in memory.
        DataError
            If there is no data set, or labels are needed and missing.
        """
        _check_options(options)
        if isinstance(data, np.ndarray) or _is_pair(data):
            pair = (data,) if isinstance(data, np.ndarray) else data
            return _source("arrays", [("arrays", DataSet(*pair))], options)
        if isinstance(data, DataSet | MultiDataSet):
            name = type(data).__name__
            return _source(name, [(name, data)], options)
        return _source_of_list([as_examples("data", item) for item in data], options)


def _is_pair(data: Any) -> bool:
    # Whoever asks for arrays that are computed by chunks, or have labels, is asked too.
    return is_pair(data) and not any(map(_is_of_others, data))


def _is_of_others(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] in _OF_OTHERS


def _check_options(options: SourceOptions) -> None:
    refuse_unused("MemorySources", "data in memory", options)
    what = "data in memory, which have no columns"
    refuse_given("MemorySources", what, options, (*COLUMN_OPTIONS, "format"))


def _source_of_list(datasets: list[Examples], options: SourceOptions) -> Source:
    if not datasets:
        raise DataError(
            "MemorySources: data must hold at least one DataSet or path, got an empty "
            "list."
        )
    kinds = sorted({type(item).__name__ for item in datasets})
    if len(kinds) > 1:
        raise DataError(
            f"MemorySources: data must be all DataSet or all MultiDataSet, got both "
            f"in a list of {len(datasets)}."
        )
    named = [(f"{kinds[0]} {number}", item) for number, item in enumerate(datasets)]
    name = f"{len(datasets)} {kinds[0]}s"
    return _source(name, named, options, minibatches=True)


def _source(
    name: str,
    datasets: list[tuple[str, Examples]],
    options: SourceOptions,
    *,
    minibatches: bool = False,
) -> Source:
    for who, examples in datasets:
        _check_examples(who, examples, options)
    partitions = tuple(MemoryPartition(who, item, options) for who, item in datasets)
    return Source(
        name,
        partitions,
        minibatches=minibatches,
        in_memory=True,
        class_names=agreed_names((one.name, one.class_names) for one in partitions),
    )


def _check_examples(name: str, examples: Examples, options: SourceOptions) -> None:
    has_labels = (
        bool(examples.labels)
        if isinstance(examples, MultiDataSet)
        else examples.labels is not None
    )
    if options.require_labels and not has_labels:
        raise DataError(
            f"{name}: labels must be there, got None. "
            "Pass require_labels=False for data without labels."
        )
    if isinstance(examples, DataSet):
        return
    for option in ("n_classes", "n_features", "feature_shape"):
        if getattr(options, option) is not None:
            raise OptionError(
                f"{name}: {option} is for a single input and output, got "
                f"{getattr(options, option)!r} with a MultiDataSet."
            )


def _shaped(examples: DataSet, options: SourceOptions, *, name: str) -> DataSet:
    features, labels = examples.features, examples.labels
    if options.n_features is not None or options.feature_shape is not None:
        features = checked_features(
            features,
            name=name,
            column="features",
            n_features=options.n_features,
            feature_shape=options.feature_shape,
            dtype=features.dtype,
        )
    n_classes = options.classes_of(0)
    if labels is not None and n_classes is not None and labels.ndim <= 2:
        is_float = labels.dtype.kind == "f"
        dtype = labels.dtype if is_float else float_type(options.dtype, [labels.dtype])
        labels = labels_of(labels, n_classes, name=name, column="labels", dtype=dtype)
    return DataSet(
        features,
        labels,
        examples.features_mask,
        examples.labels_mask,
        keys=examples.keys,
    )
