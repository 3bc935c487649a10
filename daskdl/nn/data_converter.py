"""Conversion of batches to the arrays that layers take, and of outputs back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from daskdl.arrays.namespace import (
    FloatArray,
    compiles_kernels,
    to_host,
    to_namespace,
)
from daskdl.arrays.uploads import Uploads
from daskdl.data.batch_arrays import as_batch_array
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.pairs import is_rows
from daskdl.errors import DataError
from daskdl.nn.batches import (
    Arrays,
    ArraySpec,
    Batch,
    as_arrays,
    check_features,
    check_labels,
    check_masks_of_outputs,
    of_any_length,
)
from daskdl.nn.conf.axes import border_axes
from daskdl.nn.data_checks import DataChecks, one_hot_labels
from daskdl.nn.data_format import (
    from_data_format,
    in_axes_of_layers,
    to_data_format,
)
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer

Masks = list[FloatArray | None]

_MASK_RANK = 2  # examples and time steps; what has more axes is no list of lists


class DataConverter:
    """Check, normalize and convert features and labels, and convert outputs back.

    Parameters
    ----------
    who : str
        The network's class, for messages.
    inputs, outputs, labels : sequence of ArraySpec
        The inputs, the outputs, and the labels of each output.
    dtype : dtype
        Of the network.
    namespace : module
        Of the layers' arrays, ``numpy`` or ``cupy``. Features and labels may lie
        anywhere, and outputs are NumPy's.
    steps : function of int -> int or None, optional
        How many time steps come out for so many that go in, where it can be told;
        labels of time series must be as long.

    Attributes
    ----------
    checks : DataChecks
        Which forms of features and labels are taken.
    normalizer : Normalizer or None
        Of features and, if it changes them, labels; outputs are reverted. It is
        applied here and nowhere else, so that nothing is normalized twice.
    """

    def __init__(
        self,
        who: str,
        inputs: Sequence[ArraySpec],
        outputs: Sequence[ArraySpec],
        labels: Sequence[ArraySpec],
        dtype: np.dtype[Any],
        *,
        namespace: ModuleType = np,
        steps: Callable[[int], int | None] | None = None,
    ) -> None:
        self.checks = DataChecks(tuple(inputs), tuple(labels), dtype.name)
        self._who = who
        self.inputs = inputs
        self.outputs = outputs
        self._labels = labels
        self._dtype = dtype
        self._namespace = namespace
        self._uploads = Uploads(namespace) if compiles_kernels(namespace) else None
        self._steps = steps
        self.normalizer: Normalizer | None = None

    @contextmanager
    def using(self, normalizer: NormalizerChoice) -> Iterator[None]:
        """Take another normalizer, or none, until the end of the block.

        Raises
        ------
        OptionError
            If it is neither a normalizer nor None nor ``"own"``.
        """
        own = self.normalizer
        self.normalizer = chosen_normalizer(self._who, own, normalizer)
        try:
            yield
        finally:
            self.normalizer = own

    def checked(
        self, batch: Batch, *, any_length: bool = False, numbers: bool = False
    ) -> Arrays:
        """Return the arrays of a minibatch with labels, or refuse it.

        Parameters
        ----------
        batch : DataSet, MultiDataSet or pair of arrays
            With labels.
        any_length : bool
            Whether time series may be shorter or longer than the input says.
        numbers : bool
            Whether every number is to be finite, too. Training asks for that once.

        Raises
        ------
        ShapeError
            If features, labels or masks do not fit, naming the layer.
        DataError
            If it is no data set, has no examples or no labels, or a number is not
            finite or of no row that a layer could look up.
        """
        arrays = self.checks.canonical(as_arrays(self._who, batch))
        self._check_features(arrays, any_length=any_length)
        if arrays.num_examples == 0:
            raise DataError(f"{self._who}: a minibatch must hold an example, got none.")
        labels = of_any_length(self._labels) if any_length else self._labels
        check_labels(self._who, labels, arrays, steps=self._steps)
        if numbers:
            self.checks.check_numbers(self._who, arrays, self.normalizer)
            self.checks.check_lookups(self._who, arrays, self.normalizer)
        return arrays

    def unlabelled(
        self,
        features: Any,
        features_mask: Any = None,
        *,
        any_length: bool = False,
        numbers: bool = True,
    ) -> Arrays:
        """Check features and masks, one array or a list of arrays each.

        Parameters
        ----------
        features, features_mask : ndarray of shape (batch, ...), or list of them
            One for each input; a mask may be None.
        any_length, numbers : bool
            As for :meth:`checked`.

        Raises
        ------
        ShapeError
            If they do not fit.
        DataError
            If they do not hold real numbers, or one is not finite or of no row that a
            layer could look up.
        """
        n_inputs = len(self.inputs)
        arrays = [
            as_batch_array(self._who, "features", array)
            for array in given_features(features, self.inputs)
        ]
        masks: list[Any] = [None] * len(arrays)
        if features_mask is not None:
            masks = self._given_masks("features_mask", features_mask, n_inputs)
        unlabelled = self.checks.canonical(Arrays(arrays, [], masks, []))
        self._check_features(unlabelled, any_length=any_length)
        if numbers:
            self.checks.check_numbers(self._who, unlabelled, self.normalizer)
            self.checks.check_lookups(self._who, unlabelled, self.normalizer)
        return unlabelled

    def check_labels(self, arrays: Arrays) -> None:
        """Refuse normalized labels that the losses do not take.

        Raises
        ------
        DataError
            With loss, number and row.
        """
        if self.normalizer is not None and self.normalizer.is_fit_label:
            labels = self.normalizer.transform_labels(
                arrays.labels, arrays.labels_masks
            )
            arrays = replace(arrays, labels=labels)
        self.checks.check_labels(self._who, arrays)

    def features(self, arrays: Arrays) -> tuple[list[FloatArray], Masks]:
        """Convert features and their masks for the first layers, normalized.

        Parameters
        ----------
        arrays : Arrays
            In the data formats of the caller.

        Returns
        -------
        features : list of ndarray of shape (batch, *spec.type.shape)
            One for each input, channels last, in the network's dtype.
        masks : list of (ndarray of shape (batch, time) or (batch, 1), or None)
            One for each input; those of pixels have the axes of their images.
        """
        features, masks = arrays.features, arrays.features_masks
        if self.normalizer is not None:
            features = self.normalizer.transform_features(features, masks)
        entered = self._to_layers(features, self.inputs, "features")
        return entered, self._masks(masks, self.inputs)

    def labels(self, arrays: Arrays) -> tuple[list[FloatArray], Masks]:
        """Convert labels and their masks for the output layers, normalized.

        As :meth:`features` does, of shape (batch, *spec.type.shape) for each spec of
        labels.
        """
        labels, masks = arrays.labels, arrays.labels_masks
        if self.normalizer is not None:
            labels = self.normalizer.transform_labels(labels, masks)
        entered = self._to_layers(labels, self._labels, "labels")
        return entered, self._masks(masks, self._labels)

    def labels_to_count(self, arrays: Arrays) -> list[Any]:
        """Return labels like the outputs, in the data format and the units of the data.

        Numbers of classes become rows of 0 and 1.
        """
        each = zip(self._labels, arrays.labels, arrays.labels_masks, strict=True)
        return [one_hot_labels(*one, self._dtype) for one in each]

    def rows_to_count(self, arrays: Arrays) -> tuple[list[FloatArray], Masks]:
        """Return labels to evaluate with, and their masks, classes last.

        Labels are those of :meth:`labels_to_count`, of shape (batch, *spec.type.shape)
        for each output: features or classes are last.
        """
        entered = self._to_layers(self.labels_to_count(arrays), self.outputs)
        return entered, self._masks(arrays.labels_masks, self._labels)

    def in_units_of_data(self, outputs: Sequence[FloatArray]) -> list[FloatArray]:
        """Return outputs in the units of labels before they were normalized.

        Outputs, and what is returned, are of shape (batch, *spec.type.shape), channels
        last. They are the same arrays unless the normalizer changes labels.
        """
        if self.normalizer is None or not self.normalizer.is_fit_label:
            return list(outputs)
        reverted = self.normalizer.revert_labels(self.to_data_format(outputs))
        return self._to_layers(reverted, self.outputs)

    def masks_of(self, outputs: Sequence[FloatArray], labels_mask: Any) -> Masks:
        """Convert masks of labels to go with outputs that have features last.

        Parameters
        ----------
        outputs : sequence of ndarray of shape (batch, *spec.type.shape)
            As the layers gave them.
        labels_mask : ndarray, or list of (ndarray or None)
            One for each output.

        Raises
        ------
        ShapeError
            If a mask does not fit its output.
        DataError
            If a mask does not hold real numbers, or one is not finite.
        """
        masks = self._given_masks("labels_mask", labels_mask, len(self.outputs))
        self.checks.check_masks(self._who, Arrays([], [], [], masks))
        seen = [
            array.transpose(border_axes(spec.type))
            for array, spec in zip(outputs, self.outputs, strict=True)
        ]
        check_masks_of_outputs(self._who, self.outputs, seen, masks)
        return self._masks(masks, self.outputs)

    def to_data_format(self, outputs: Sequence[FloatArray]) -> list[FloatArray]:
        """Convert outputs to new arrays of NumPy in the data format of the caller.

        Each is of shape (batch, *spec.type.shape), channels last, and becomes (batch,
        *spec.type.border_shape).
        """
        return [
            to_data_format(to_host(array), spec.type)
            for array, spec in zip(outputs, self.outputs, strict=True)
        ]

    def _given_masks(self, name: str, given: Any, n_arrays: int) -> Masks:
        return [
            None if mask is None else as_batch_array(self._who, name, mask)
            for mask in as_list(given, n_arrays, _MASK_RANK)
        ]

    def _check_features(self, arrays: Arrays, *, any_length: bool) -> None:
        inputs = of_any_length(self.inputs) if any_length else self.inputs
        check_features(self._who, inputs, arrays.features, arrays.features_masks)

    def _to_layers(
        self, arrays: Sequence[Any], specs: Sequence[ArraySpec], name: str = ""
    ) -> list[FloatArray]:
        """Return what layers take; arrays with a name have places on a device."""
        if name and self._uploads is not None:
            # A device changes the order of numbers faster than the host.
            return [
                self._uploads.put(
                    (name, number),
                    np.asarray(in_axes_of_layers(array, spec.type), self._dtype),
                )
                for number, (array, spec) in enumerate(zip(arrays, specs, strict=True))
            ]
        inside = [
            from_data_format(array, spec.type, self._dtype)
            for array, spec in zip(arrays, specs, strict=True)
        ]
        return [to_namespace(array, self._namespace) for array in inside]

    def _masks(self, arrays: Sequence[Any], specs: Sequence[ArraySpec]) -> Masks:
        masks: Masks = []
        for array, spec in zip(arrays, specs, strict=True):
            mask = None if array is None else np.asarray(array, dtype=self._dtype)
            # One of pixels, or of single numbers of series or images, has their axes.
            if mask is not None and mask.ndim == len(spec.type.shape) + 1 > 2:
                mask = from_data_format(mask, spec.type, self._dtype)
            masks.append(None if mask is None else to_namespace(mask, self._namespace))
        return masks


def given_features(features: Any, inputs: Sequence[ArraySpec]) -> list[Any]:
    """Return the array, (batch, ...), for each input; see :func:`as_list`."""
    return as_list(features, len(inputs), len(inputs[0].type.border_shape) + 1)


def as_list(value: Any, n_arrays: int, rank: int) -> list[Any]:
    """Return a list with one array for each input or output.

    Parameters
    ----------
    value : array_like, or list of array_like or None
        Where one array is asked for, a list of rows of numbers is that array.
    n_arrays : int
        How many inputs or outputs there are.
    rank : int
        How many axes the first array has, that of examples included.
    """
    if not isinstance(value, list | tuple):
        return [value]
    if n_arrays != 1 or not is_rows(value):
        return list(value)
    is_list_of_one = len(value) == 1 and _depth(value[0]) == rank
    return list(value) if is_list_of_one else [value]


def _depth(value: Any) -> int:
    """Return the depth of nested lists, by their first items."""
    depth = 0
    while isinstance(value, list | tuple) and value:
        value, depth = value[0], depth + 1
    return depth + np.ndim(value)
