"""MultiDataSet: examples for networks with several inputs or outputs."""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from numpy.typing import NDArray

from daskdl.class_files import class_file
from daskdl.data.batch_arrays import as_batch_array, as_keys, check_same_length
from daskdl.data.dataset import DataSet
from daskdl.data.example_metadata import as_metadata, merge_metadata, take_metadata
from daskdl.data.example_set import ExampleSet
from daskdl.data.merging import (
    lengths_of_series,
    merge_arrays,
    merge_keys,
    merge_masks,
)
from daskdl.data.stored_arrays import Layouts, MultiDataSetArrays
from daskdl.data.time_series import Alignment
from daskdl.errors import CorruptFileError, DataError, OptionError, ShapeError

__all__ = ["MultiDataSet"]

_Masks = Sequence[Any] | None

_GROUPS = ("features", "labels", "features_masks", "labels_masks")
_OF_EXAMPLES = ("keys", "example_metadata")


class MultiDataSet(ExampleSet):
    """Some examples, for a network with any number of inputs and outputs.

    Parameters
    ----------
    features : sequence of array_like, each of shape (batch, ...)
        One an input, in the order of the network's inputs; at least one.
    labels : sequence of array_like, each of shape (batch, ...), optional
        One an output; empty for prediction.
    features_masks, labels_masks : sequence of (array_like or None), optional
        One entry an input or output; (batch, time), 1 keeps and 0 drops. None as a
        whole is the same as None for each.
    keys : sequence of length batch, optional
        Come back with the predictions.
    example_metadata : sequence of length batch, optional
        Where each example came from: text, None, or an object read from Java.

    Raises
    ------
    DataError
        If an array is ragged or does not hold real numbers, or there is no input.
    ShapeError
        If the arrays differ in their number of examples, or masks are too few or many.
    """

    __slots__ = (*_GROUPS, *_OF_EXAMPLES, "_layouts")

    def __init__(
        self,
        features: Sequence[Any],
        labels: Sequence[Any] = (),
        features_masks: _Masks = None,
        labels_masks: _Masks = None,
        *,
        keys: Any = None,
        example_metadata: Sequence[Any] | None = None,
    ) -> None:
        self.features = _arrays("features", features)
        self.labels = _arrays("labels", labels)
        if not self.features:
            raise DataError("MultiDataSet: features must hold at least one, got none.")
        self.features_masks = _masks(
            "features_masks", features_masks, len(self.features)
        )
        self.labels_masks = _masks("labels_masks", labels_masks, len(self.labels))
        n_examples = check_same_length("MultiDataSet", list(self._named_arrays()))
        self.keys: NDArray[Any] | None = (
            None if keys is None else as_keys("MultiDataSet", keys, n_examples)
        )
        self.example_metadata = as_metadata(
            "MultiDataSet", example_metadata, n_examples
        )
        # How the arrays were stored, so that they can be stored like this again.
        self._layouts: Layouts = {}

    @classmethod
    def of(cls, examples: "DataSet | MultiDataSet") -> "MultiDataSet":
        """Return the examples as lists of arrays; a DataSet has lists of one."""
        if isinstance(examples, MultiDataSet):
            return examples
        has_labels = examples.labels is not None
        return cls(
            [examples.features],
            [examples.labels] if has_labels else [],
            [examples.features_mask],
            [examples.labels_mask] if has_labels else [],
            keys=examples.keys,
            example_metadata=examples.example_metadata,
        )

    @property
    def num_examples(self) -> int:
        """Number of examples: the length of axis 0 of every array."""
        return len(self.features[0])

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, without keys."""
        return sum(a.nbytes for _, a in self._named_arrays() if a is not None)

    def __repr__(self) -> str:
        parts = [
            f"{name}={array.shape} {array.dtype}"
            for name, array in self._named_arrays()
            if array is not None
        ]
        if self.keys is not None:
            parts.append(f"keys={self.keys.shape} {self.keys.dtype}")
        return f"MultiDataSet({', '.join(parts)})"

    @staticmethod
    def merge(
        datasets: Sequence["MultiDataSet"], *, align: Alignment = "start"
    ) -> "MultiDataSet":
        """Join data sets, example after example; as `DataSet.merge`, array by array.

        Parameters
        ----------
        datasets, align
            As for `DataSet.merge`.

        Raises
        ------
        OptionError
            If there is none.
        DataError
            If only some have keys.
        ShapeError
            If they differ in their number of inputs or outputs, or the shapes of their
            examples differ in more than the length in time.
        """
        who = "MultiDataSet.merge"
        if not datasets:
            raise OptionError(f"{who}: datasets must hold at least one, got [].")
        if len(datasets) == 1:
            return datasets[0]
        _check_same_counts(who, datasets)
        features, features_masks = _merged(
            who,
            "features",
            [(d.features, d.features_masks) for d in datasets],
            align=align,
        )
        labels, labels_masks = _merged(
            who,
            "labels",
            [(d.labels, d.labels_masks) for d in datasets],
            [lengths_of_series(d.features) for d in datasets],
            align=align,
        )
        return MultiDataSet(
            features,
            labels,
            features_masks,
            labels_masks,
            keys=merge_keys(who, [d.keys for d in datasets]),
            example_metadata=merge_metadata(
                [(len(d), d.example_metadata) for d in datasets]
            ),
        )

    def replaced(self, **changes: Any) -> "MultiDataSet":
        """Return a data set with some parts replaced, the others being the same.

        Parameters
        ----------
        **changes
            By the names that the constructor has.
        """
        made = MultiDataSet(
            **{name: getattr(self, name) for name in (*_GROUPS, *_OF_EXAMPLES)}
            | changes
        )
        made._layouts = {
            name: layout
            for name, layout in self._layouts.items()
            if name.partition("[")[0] not in changes
        }
        return made

    def write_to(self, stream: BinaryIO) -> None:
        """Write the file of `save` to an open binary stream."""
        class_file("MultiDataSet").write(
            stream,
            MultiDataSetArrays(
                self.features,
                self.labels,
                self.features_masks,
                self.labels_masks,
                self._layouts,
                self.example_metadata,
            ),
        )

    @classmethod
    def read_from(
        cls, stream: BinaryIO, *, name: str, with_metadata: bool = True
    ) -> "MultiDataSet":
        """Read the file of `load` from a binary stream; `name` is for messages.

        With metadata, the data set must end where the stream ends: only the end says
        that there are none.
        """
        arrays: MultiDataSetArrays = class_file("MultiDataSet").read(
            stream, name=name, with_metadata=with_metadata
        )
        if not arrays.features:
            raise DataError(f"{name}: a MultiDataSet must hold features, got none.")
        try:
            loaded = cls(
                arrays.features,
                arrays.labels,
                arrays.features_masks,
                arrays.labels_masks,
                example_metadata=arrays.example_metadata,
            )
        except ShapeError as error:
            # What was read bears no name: a damaged number of rows, say.
            raise CorruptFileError(
                f"{name}: must be a whole MultiDataSet file, it is damaged: {error}"
            ) from error
        loaded._layouts = arrays.layouts
        return loaded

    def _named_arrays(self) -> Iterator[tuple[str, NDArray[Any] | None]]:
        for name in _GROUPS:
            for index, array in enumerate(getattr(self, name) or ()):
                yield f"{name}[{index}]", array

    def _take(self, rows: Any) -> "MultiDataSet":
        # Past __init__, as in DataSet.
        taken = MultiDataSet.__new__(MultiDataSet)
        for name in _GROUPS:
            arrays = getattr(self, name)
            cut = [None if one is None else one[rows] for one in arrays or ()]
            setattr(taken, name, None if arrays is None else cut)
        taken.keys = None if self.keys is None else self.keys[rows]
        taken.example_metadata = take_metadata(self.example_metadata, rows)
        taken._layouts = self._layouts
        return taken


def _arrays(name: str, values: Sequence[Any]) -> list[NDArray[Any]]:
    if not isinstance(values, list | tuple):
        raise DataError(
            f"MultiDataSet: {name} must be a list of arrays, got "
            f"{type(values).__qualname__}. Use DataSet for a single input and output."
        )
    return [
        as_batch_array("MultiDataSet", f"{name}[{index}]", value)
        for index, value in enumerate(values)
    ]


def _masks(name: str, values: _Masks, n: int) -> list[NDArray[Any] | None] | None:
    if values is None:
        return None
    if len(values) != n:
        raise ShapeError(
            f"MultiDataSet: {name} must have one entry for each of {n} arrays (None "
            f"where there is no mask), got {len(values)}."
        )
    masks = [
        None if value is None else as_batch_array("MultiDataSet", f"{name}[{i}]", value)
        for i, value in enumerate(values)
    ]
    return None if all(mask is None for mask in masks) else masks


def _check_same_counts(who: str, datasets: Sequence[MultiDataSet]) -> None:
    counts = {(len(d.features), len(d.labels)) for d in datasets}
    if len(counts) > 1:
        raise ShapeError(
            f"{who}: all must have the same number of inputs and outputs, "
            f"got {sorted(counts)}."
        )


def _merged(
    who: str,
    name: str,
    parts: Sequence[tuple[list[NDArray[Any]], list[NDArray[Any] | None] | None]],
    lengths: Sequence[set[int]] = (),
    *,
    align: Alignment,
) -> tuple[list[NDArray[Any] | None], list[NDArray[Any] | None]]:
    arrays, masks = [], []
    for index in range(len(parts[0][0])):
        column = [part[0][index] for part in parts]
        column_masks = [None if part[1] is None else part[1][index] for part in parts]
        what, whose = f"{name}[{index}]", f"{name}_masks[{index}]"
        how: Any = {"lengths": lengths, "align": align}
        arrays.append(merge_arrays(who, what, column, masks=column_masks, **how))
        masks.append(merge_masks(who, whose, column, column_masks, **how))
    return arrays, masks
