"""DataSet: features, labels, masks and keys of some examples."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from numpy.typing import NDArray

from daskdl.class_files import class_file
from daskdl.data.batch_arrays import as_batch_array, as_keys, check_same_length
from daskdl.data.example_metadata import (
    as_metadata,
    as_names,
    merge_metadata,
    merge_names,
    take_metadata,
)
from daskdl.data.example_set import ExampleSet
from daskdl.data.labelled_arrays import arrays_of_variables
from daskdl.data.merging import (
    lengths_of_series,
    merge_arrays,
    merge_keys,
    merge_masks,
)
from daskdl.data.stored_arrays import DataSetArrays, Layouts
from daskdl.data.time_series import Alignment
from daskdl.errors import CorruptFileError, DataError, OptionError, ShapeError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DataSet"]

_ARRAYS = ("features", "labels", "features_mask", "labels_mask")
_OTHERS = ("keys", "example_metadata", "label_names")


class DataSet(ExampleSet):
    """Some examples, for a network with one input and one output.

    Parameters
    ----------
    features : array_like of shape (batch, ...)
        Rows, time series (batch, features, time), images (batch, channels, height,
        width), or as the network's data format says. Arrays are not copied.
    labels : array_like of shape (batch, ...), optional
        None for prediction.
    features_mask, labels_mask : array_like of shape (batch, time), optional
        1 keeps a time step, 0 drops it. A labels mask of shape (batch, 1) or
        (batch, n_out) weighs examples or outputs.
    keys : sequence of length batch, optional
        Come back with the predictions.
    example_metadata : sequence of length batch, optional
        Where each example came from: text, None, or an object read from Java.
    label_names : sequence of str, optional
        One a column of the labels.

    Raises
    ------
    DataError
        If an array is ragged or does not hold real numbers.
    ShapeError
        If the arrays, keys or metadata differ in their number of examples.

    Examples
    --------
    >>> batch = DataSet([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[1, 0], [0, 1], [1, 0]])
    >>> [part.num_examples for part in batch.batches(2)]
    [2, 1]
    """

    __slots__ = (*_ARRAYS, *_OTHERS, "_layouts")

    def __init__(
        self,
        features: Any,
        labels: Any = None,
        features_mask: Any = None,
        labels_mask: Any = None,
        *,
        keys: Any = None,
        example_metadata: Sequence[Any] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.features: NDArray[Any] = as_batch_array("DataSet", "features", features)
        self.labels = _optional("labels", labels)
        self.features_mask = _optional("features_mask", features_mask)
        self.labels_mask = _optional("labels_mask", labels_mask)
        n_examples = check_same_length(
            "DataSet",
            [(name, getattr(self, name)) for name in _ARRAYS],
        )
        self.keys: NDArray[Any] | None = (
            None if keys is None else as_keys("DataSet", keys, n_examples)
        )
        self.example_metadata = as_metadata("DataSet", example_metadata, n_examples)
        self.label_names = as_names("DataSet", label_names)
        # How the arrays were stored, so that they can be stored like this again.
        self._layouts: Layouts = {}

    @property
    def num_examples(self) -> int:
        """Number of examples: the length of axis 0 of every array."""
        return len(self.features)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, without keys."""
        arrays = (getattr(self, name) for name in _ARRAYS)
        return sum(array.nbytes for array in arrays if array is not None)

    def __repr__(self) -> str:
        parts = [
            f"{name}={array.shape} {array.dtype}"
            for name in (*_ARRAYS, "keys")
            if (array := getattr(self, name)) is not None
        ]
        return f"DataSet({', '.join(parts)})"

    @staticmethod
    def merge(
        datasets: Sequence["DataSet"], *, align: Alignment = "start"
    ) -> "DataSet":
        """Join data sets, example after example.

        Time series (batch, features, time) of different lengths are filled up with
        zeros at their end, and masks say so, as DL4J does; so are labels (batch, time)
        that are as long as the features. Where some have a mask and others not, the
        others' examples count in full.

        Parameters
        ----------
        datasets : sequence of DataSet
            At least one.
        align : {"start", "end", "equal_length"}
            ``"end"`` fills up shorter time series at their beginning instead, and
            ``"equal_length"`` refuses them.

        Returns
        -------
        DataSet
            Copies; the data set itself if there is only one.

        Raises
        ------
        OptionError
            If there is none.
        DataError
            If only some have labels, or keys.
        ShapeError
            If the shapes of their examples differ in more than the length in time.
        """
        if not datasets:
            raise OptionError("DataSet.merge: datasets must hold at least one, got [].")
        if len(datasets) == 1:
            return datasets[0]
        who = "DataSet.merge"
        features = merge_arrays(
            who,
            "features",
            [d.features for d in datasets],
            masks=[d.features_mask for d in datasets],
            align=align,
        )
        lengths = [lengths_of_series([d.features]) for d in datasets]
        labels = merge_arrays(
            who,
            "labels",
            [d.labels for d in datasets],
            masks=[d.labels_mask for d in datasets],
            lengths=lengths,
            align=align,
        )
        if features is None:
            raise DataError(f"{who}: features must be there, got None.")
        return DataSet(
            features,
            labels,
            merge_masks(
                who,
                "features_mask",
                [d.features for d in datasets],
                [d.features_mask for d in datasets],
                align=align,
            ),
            merge_masks(
                who,
                "labels_mask",
                [d.labels for d in datasets],
                [d.labels_mask for d in datasets],
                lengths=lengths,
                align=align,
            ),
            keys=merge_keys(who, [d.keys for d in datasets]),
            example_metadata=merge_metadata(
                [(len(d), d.example_metadata) for d in datasets]
            ),
            label_names=merge_names(who, [d.label_names for d in datasets]),
        )

    def replaced(self, **changes: Any) -> "DataSet":
        """Return a data set with some parts replaced, the others being the same.

        Parameters
        ----------
        **changes
            By the names that the constructor has.
        """
        parts = {name: getattr(self, name) for name in (*_ARRAYS, *_OTHERS)}
        made = DataSet(**parts | changes)
        made._layouts = {
            name: layout
            for name, layout in self._layouts.items()
            if name not in changes
        }
        return made

    def write_to(self, stream: BinaryIO) -> None:
        """Write the file of `save` to an open binary stream."""
        class_file("DataSet").write(
            stream,
            DataSetArrays(
                self.features,
                self.labels,
                self.features_mask,
                self.labels_mask,
                self._layouts,
                self.example_metadata,
                self.label_names,
            ),
        )

    @classmethod
    def read_from(
        cls, stream: BinaryIO, *, name: str, with_metadata: bool = True
    ) -> "DataSet":
        """Read the file of `load` from a binary stream; `name` is for messages."""
        arrays: DataSetArrays = class_file("DataSet").read(
            stream, name=name, with_metadata=with_metadata
        )
        if arrays.features is None:
            raise DataError(f"{name}: a DataSet must hold features, got none.")
        try:
            loaded = cls(
                arrays.features,
                arrays.labels,
                arrays.features_mask,
                arrays.labels_mask,
                example_metadata=arrays.example_metadata,
                label_names=arrays.label_names,
            )
        except ShapeError as error:
            # What was read bears no name: a damaged number of rows, say.
            raise CorruptFileError(
                f"{name}: must be a whole DataSet file, it is damaged: {error}"
            ) from error
        loaded._layouts = arrays.layouts
        return loaded

    @classmethod
    def from_xarray(
        cls,
        ds: "xr.Dataset",
        *,
        features: str | Sequence[str],
        label: str | Sequence[str] | None = None,
        sample_dim: Hashable | None = None,
        n_classes: int | None = None,
        key: str | None = None,
        features_mask: str | None = None,
        labels_mask: str | None = None,
    ) -> "DataSet":
        """Make a data set of variables of a labelled one, computing lazy ones.

        Parameters
        ----------
        ds : xarray.Dataset
        features, label : str or sequence of str
            Variables. Several stand side by side, and must then have at most one
            dimension besides `sample_dim`.
        sample_dim : hashable, optional
            Dimension along which examples lie; the first of the (first) features
            variable if not given. The other dimensions keep their order.
        n_classes : int, optional
            The label variable holds integers from 0 to n_classes - 1 and becomes
            one-hot rows.
        key, features_mask, labels_mask : str, optional
            Variables or coordinates.

        Raises
        ------
        ColumnError
            If a variable is missing or lacks `sample_dim`.
        DataError
            If a label is not among the classes.
        """
        arrays = arrays_of_variables(
            ds,
            name="DataSet.from_xarray",
            features=features,
            label=label,
            sample_dim=sample_dim,
            n_classes=n_classes,
            key=key,
            features_mask=features_mask,
            labels_mask=labels_mask,
        )
        return cls(**arrays)

    def _take(self, rows: Any) -> "DataSet":
        # Past __init__, which has checked the arrays: minibatches are cut all the time.
        taken = DataSet.__new__(DataSet)
        taken.features = self.features[rows]
        taken.labels = _rows_of(self.labels, rows)
        taken.features_mask = _rows_of(self.features_mask, rows)
        taken.labels_mask = _rows_of(self.labels_mask, rows)
        taken.keys = _rows_of(self.keys, rows)
        taken.example_metadata = take_metadata(self.example_metadata, rows)
        taken.label_names = self.label_names
        taken._layouts = self._layouts
        return taken


def _rows_of(array: NDArray[Any] | None, rows: Any) -> NDArray[Any] | None:
    return None if array is None else array[rows]


def _optional(name: str, value: Any) -> NDArray[Any] | None:
    return None if value is None else as_batch_array("DataSet", name, value)
