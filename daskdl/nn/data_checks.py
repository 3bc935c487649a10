"""Checks of features and labels, and the canonical form in which layers take them.

The one rule for everything that takes data: training, evaluation, scores and outputs in
one process, the scan in front of a training, and the tasks of a cluster.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from daskdl.checks import indexed
from daskdl.data.finite import check_finite, check_mask
from daskdl.data.labels import check_classes
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.pairs import Examples, as_examples
from daskdl.nn.batches import Arrays, ArraySpec, as_arrays
from daskdl.nn.conf.axes import feature_axis, fits
from daskdl.nn.conf.input_type import InputType, with_features

Expand = Callable[[ArraySpec, Any, Any], Any]


@dataclass(frozen=True)
class DataChecks:
    """Check features and labels, and bring them to their canonical form.

    Where there is one feature, output or channel, its axis may be left out: labels of
    shape (batch,) are a column. Rows may stand for the images that they flatten. Where
    the loss is one of classes, their numbers may stand for rows of 0 and 1.

    Parameters
    ----------
    inputs, labels : tuple of ArraySpec
        Of the network.
    dtype : str
        Of the network: numbers that are too large for it count as infinite.
    """

    inputs: tuple[ArraySpec, ...]
    labels: tuple[ArraySpec, ...]
    dtype: str

    def canonical(self, arrays: Arrays) -> Arrays:
        """Return arrays with all their axes; those that fit no form stay as they are.

        Raises
        ------
        DataError
            If a label is to be the number of a class, and is none.
        """
        return replace(
            arrays,
            features=self._each(
                self.inputs, arrays.features, arrays.features_masks, _expanded
            ),
            labels=self._each(
                self.labels,
                arrays.labels,
                arrays.labels_masks,
                partial(_labels, dtype=self.dtype),
            ),
        )

    def canonical_examples(self, who: str, examples: Any) -> Examples:
        """Return a data set, or a pair of arrays, as a data set in canonical form.

        Parameters and errors are those of :meth:`canonical` and of
        :func:`daskdl.nn.batches.as_arrays`.
        """
        given = as_arrays(who, examples)
        canonical = self.canonical(given)
        if isinstance(examples, MultiDataSet):
            return examples.replaced(
                features=canonical.features, labels=canonical.labels
            )
        labels = canonical.labels[0] if canonical.labels else None
        return as_examples(who, examples).replaced(
            features=canonical.features[0], labels=labels
        )

    def check_numbers(
        self, who: str, arrays: Arrays, normalizer: Normalizer | None
    ) -> None:
        """Refuse features and labels that are not finite where they count, and masks.

        What a mask drops of the labels may be anything. So may be what it drops of the
        features if a normalizer makes 0 of that: layers multiply it by 0, which leaves
        NaN what it is.

        Parameters
        ----------
        who : str
            What messages call the data.
        arrays : Arrays
            Formed or not.
        normalizer : Normalizer or None
            What the features will go through.

        Raises
        ------
        DataError
            With array, row and place.
        """
        self.check_masks(who, arrays)
        is_dropped = normalizer is not None and normalizer.drops_masked_steps
        for what, spec, array, mask in _named(
            "features", self.inputs, arrays.features, arrays.features_masks
        ):
            expanded = _expanded(spec, array)
            counts = kept_by_mask(spec.type, expanded, mask) if is_dropped else None
            check_finite(who, what, expanded, dtype=self.dtype, counts=counts)
        for what, spec, array, mask in _named(
            "labels", self.labels, arrays.labels, arrays.labels_masks
        ):
            expanded, n_classes = _expanded_labels(spec, array)
            counts = kept_by_mask(spec.type, expanded, mask)
            check_finite(who, what, expanded, dtype=self.dtype, counts=counts)
            if n_classes is not None:
                check_classes(f"{who}: {what}", expanded, n_classes, counts=counts)

    def check_lookups(
        self, who: str, arrays: Arrays, normalizer: Normalizer | None
    ) -> None:
        """Refuse features that layers cannot look up, masked or not.

        What becomes of features that are normalized, each minibatch will show.
        Parameters are those of :meth:`check_numbers`.

        Raises
        ------
        DataError
            With number, row and the rows that there are.
        """
        if normalizer is not None:
            return
        for what, spec, array, _ in _named(
            "features", self.inputs, arrays.features, arrays.features_masks
        ):
            if spec.rule is None:
                continue
            expanded = _expanded(spec, array)
            if fits(spec.type.border_shape, expanded):
                spec.rule.check(f"{who}: {what}", expanded)

    def check_labels(self, who: str, arrays: Arrays) -> None:
        """Refuse unmasked labels that the losses do not take.

        Parameters
        ----------
        who : str
            What messages call the data.
        arrays : Arrays
            Formed or not; the numbers of their labels are looked at already.

        Raises
        ------
        DataError
            With loss, number and row.
        """
        for what, spec, array, mask in _named(
            "labels", self.labels, arrays.labels, arrays.labels_masks
        ):
            if spec.rule is None:
                continue
            expanded, n_classes = _expanded_labels(spec, array)
            # What does not fit is refused where shapes are looked at.
            if n_classes is None and fits(spec.type.border_shape, expanded):
                counts = kept_by_mask(spec.type, expanded, mask)
                spec.rule.check(f"{who}: {what}", expanded, counts)

    def check_masks(self, who: str, arrays: Arrays) -> None:
        """Refuse masks that :func:`check_mask` does; as :meth:`check_numbers`."""
        # First: NaN is not 0, so it would let count what it stands for.
        groups = {
            "features_mask": (self.inputs, arrays.features_masks),
            "labels_mask": (self.labels, arrays.labels_masks),
        }
        for group, (specs, masks) in groups.items():
            for what, _, mask, _ in _named(group, specs, masks, masks):
                if mask is not None:
                    check_mask(who, what, mask, dtype=self.dtype)

    def _each(
        self,
        specs: Sequence[ArraySpec],
        arrays: list[Any],
        masks: list[Any],
        expand: Expand,
    ) -> list[Any]:
        # Another number of arrays is refused where all are held against the specs.
        if not len(specs) == len(arrays) == len(masks):
            return arrays
        return [expand(*each) for each in zip(specs, arrays, masks, strict=True)]


@dataclass(frozen=True)
class PartitionCheck:
    """Check each partition, or object in memory, that is to be trained on."""

    checks: DataChecks
    normalizer: Normalizer | None

    def __call__(self, who: str, examples: MultiDataSet) -> MultiDataSet:
        """Return examples in canonical form, or refuse them."""
        arrays = as_arrays(who, examples)
        self.check(who, arrays)
        canonical = self.checks.canonical(arrays)
        return examples.replaced(features=canonical.features, labels=canonical.labels)

    def check(self, who: str, arrays: Arrays) -> None:
        """Refuse numbers that are not finite, or not what layers or losses take."""
        self.checks.check_numbers(who, arrays, self.normalizer)
        self.checks.check_lookups(who, arrays, self.normalizer)
        # What the loss sees of labels that are normalized, each minibatch will show.
        if self.normalizer is None or not self.normalizer.is_fit_label:
            self.checks.check_labels(who, arrays)


def one_hot_labels(spec: ArraySpec, labels: Any, mask: Any, dtype: Any) -> Any:
    """Return labels with numbers of classes as rows of 0 and 1, for evaluations.

    Parameters
    ----------
    spec : ArraySpec
        Of the labels.
    labels : ndarray of shape (batch, *spec.type.border_shape), or of class numbers
        As a layer wants them, in the data format.
    mask : ndarray of shape (batch, time), (batch, 1), or None
    dtype : dtype
        Of the rows.

    Returns
    -------
    ndarray
        `labels` itself unless they are numbers of classes.
    """
    if spec.classes is None or not fits(_numbers_type(spec).border_shape, labels):
        return labels
    return _one_hot(spec, spec.classes, labels, mask, dtype)


def kept_by_mask(input_type: InputType, array: Any, mask: Any) -> Any:
    """Return the elements of an array that a mask keeps, as bool.

    The mask may lack the axis of features, or be of examples alone; what is returned
    broadcasts to the array, (batch, ...). None without a mask, and with one that does
    not fit, which is refused elsewhere.
    """
    if mask is None:
        return None
    counts = np.asarray(mask) != 0
    if counts.ndim == array.ndim - 1:
        counts = np.expand_dims(counts, feature_axis(input_type))
    elif counts.ndim < array.ndim:
        counts = counts.reshape(len(counts), *[1] * (array.ndim - 1))
    fits_array = counts.ndim == array.ndim and all(
        size in (1, whole)
        for size, whole in zip(counts.shape, array.shape, strict=True)
    )
    # One that does not fit is refused by its shape, elsewhere.
    return counts if fits_array else None


def _expanded(spec: ArraySpec, array: Any, mask: Any = None) -> Any:
    """Return an array with the axes that were left out, if it is one of that kind."""
    shape, axis = spec.type.border_shape, feature_axis(spec.type)
    if fits(shape, array):
        return array
    if shape[axis if axis < 0 else axis - 1] == 1 and array.ndim == len(shape):
        return array[:, None] if axis == 1 else array[..., None]
    # Series are left alone: nobody can say which of two axes comes first.
    sizes = [size for size in shape if size is not None]
    is_of_images = len(sizes) == len(shape) > 2
    if is_of_images and array.ndim == 2 and array.shape[1] == math.prod(sizes):
        return array.reshape(len(array), *sizes)
    return array


def _labels(spec: ArraySpec, array: Any, mask: Any, *, dtype: Any) -> Any:
    expanded, n_classes = _expanded_labels(spec, array)
    if n_classes is None:
        return expanded
    return _one_hot(spec, n_classes, expanded, mask, dtype)


def _expanded_labels(spec: ArraySpec, array: Any) -> tuple[Any, int | None]:
    """Return labels with the axes that were left out, and the number of classes.

    It is None unless labels are numbers of classes, in place of rows of 0 and 1.
    """
    expanded = _expanded(spec, array)
    # What has the right shape is what the layer wants, numbers of classes or not.
    if spec.classes is None or fits(spec.type.border_shape, expanded):
        return expanded, None
    numbers_spec = replace(spec, type=_numbers_type(spec))
    numbers = _expanded(numbers_spec, array)
    if fits(numbers_spec.type.border_shape, numbers):
        return numbers, spec.classes
    return expanded, None


def _one_hot(
    spec: ArraySpec, n_classes: int, numbers: Any, mask: Any, dtype: Any
) -> Any:
    counts = kept_by_mask(spec.type, numbers, mask)
    check_classes(f"{spec.who}: labels", numbers, n_classes, counts=counts)
    shape = [1] * numbers.ndim
    shape[feature_axis(spec.type)] = -1
    return (numbers == np.arange(n_classes).reshape(shape)).astype(dtype)


def _named(
    group: str, specs: Sequence[ArraySpec], arrays: list[Any], masks: list[Any]
) -> Iterator[tuple[str, ArraySpec, Any, Any]]:
    """Yield each array with its name in messages."""
    # Another number of arrays is refused where all are held against the specs.
    for index, each in enumerate(zip(specs, arrays, masks, strict=False)):
        yield indexed(group, index, len(arrays)), *each


def _numbers_type(spec: ArraySpec) -> InputType:
    """Return the type of labels of which each is the number of a class."""
    return with_features(spec.type, 1)
