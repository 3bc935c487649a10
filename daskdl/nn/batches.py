"""Minibatches as lists of arrays, checked against the network's inputs."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from daskdl.checks import check_count
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pairs import as_examples, is_features, is_pair
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.losses.label_rules import LabelRule
from daskdl.nn.masks import check_pixels

Batch: TypeAlias = DataSet | MultiDataSet
"""One minibatch."""

Pair: TypeAlias = tuple[Any, Any]
"""Features and labels, as arrays or as lists."""

Given: TypeAlias = Batch | Pair | Iterable[Batch | Pair]
"""What methods that go over data take."""


@dataclass(frozen=True)
class ArraySpec:
    """The arrays of one input or output of a network, as callers hand them over.

    Parameters
    ----------
    who : str
        What messages begin with, e.g. ``MultiLayerNetwork layer0 (Dense)``.
    type : InputType
        What an example is there.
    images : tuple of int, optional
        Channels, height and width of images that may come instead of the rows that
        they are flattened to.
    classes : int, optional
        Of labels that tell classes: how many there are.
    rule : LabelRule, optional
        What labels must be for the loss, or features for layers that look them up.
    """

    who: str
    type: InputType
    images: tuple[int, ...] | None = None
    classes: int | None = None
    rule: LabelRule | None = None


def of_any_length(specs: Iterable[ArraySpec]) -> list[ArraySpec]:
    """Return the same specs with time series that may have any length."""
    return [
        replace(spec, type=spec.type.replaced(time_steps=None))
        if isinstance(spec.type, Recurrent)
        else spec
        for spec in specs
    ]


@dataclass(frozen=True)
class Arrays:
    """The arrays of a minibatch, one entry for each input or output.

    Parameters
    ----------
    features : list of ndarray
        In the order of the inputs.
    labels : list of ndarray
        In the order of the outputs; empty if there are none.
    features_masks, labels_masks : list of (ndarray or None)
        In the same orders.
    """

    features: list[Any]
    labels: list[Any]
    features_masks: list[Any]
    labels_masks: list[Any]

    @property
    def num_examples(self) -> int:
        """Number of rows of the first input."""
        return len(self.features[0])


def as_arrays(who: str, batch: Any) -> Arrays:
    """Return the arrays of a DataSet, a MultiDataSet or a pair of arrays.

    Raises
    ------
    DataError
        If it is none of these.
    """
    batch = as_examples(who, batch)
    if isinstance(batch, DataSet):
        has_labels = batch.labels is not None
        return Arrays(
            [batch.features],
            [batch.labels] if has_labels else [],
            [batch.features_mask],
            [batch.labels_mask] if has_labels else [],
        )
    features, labels = list(batch.features), list(batch.labels)
    return Arrays(
        features,
        labels,
        list(batch.features_masks or [None] * len(features)),
        list(batch.labels_masks or [None] * len(labels)),
    )


def minibatches(who: str, data: Any, batch_size: int | None) -> Iterator[Batch]:
    """Yield the minibatches of one pass over `data`.

    Parameters
    ----------
    who : str
        Named in errors.
    data : DataSet, MultiDataSet, pair of arrays, or iterable of them
        Each is one minibatch, or is cut into some.
    batch_size : int or None
        None leaves each as it is.

    Raises
    ------
    DataError
        If `data` is nothing of the kind, or there is no minibatch.
    OptionError
        If `batch_size` is no whole number greater than 0.
    """
    if batch_size is not None:
        check_count(who, "batch_size", batch_size)
    is_empty = True
    for item in given_examples(who, data):
        batch = as_examples(who, item)
        for part in [batch] if batch_size is None else batch.batches(batch_size):
            is_empty = False
            yield part
    if is_empty:
        raise DataError(f"{who}: data must hold a minibatch, got none.")


def given_examples(who: str, data: Any) -> Iterable[Any]:
    """Return the data sets in `data`; a data set or arrays count as one.

    Parameters are those of :func:`minibatches`.

    Raises
    ------
    DataError
        If it is nothing that could hold data sets.
    """
    if isinstance(data, DataSet | MultiDataSet) or is_pair(data):
        return [data]
    if is_features(data):
        # Features alone, which pretraining takes; others miss the labels.
        return [DataSet(data)]
    if isinstance(data, Iterable) and not isinstance(data, str | os.PathLike | Mapping):
        return data
    hint = ""
    if isinstance(data, str | os.PathLike):
        hint = " Paths are for fit, DaskMultiLayer and DaskComputationGraph."
    raise DataError(
        f"{who}: data must be a DataSet, a MultiDataSet, a pair (features, labels) of "
        f"arrays, or an iterable of them, got {type(data).__name__}.{hint}"
    )


def check_batch_size(who: str, data: Any, batch_size: int | None) -> None:
    """Refuse a pair of arrays without a batch size.

    Raises
    ------
    OptionError
        As :func:`daskdl.training.local.fit` does.
    """
    if batch_size is None and is_pair(data):
        raise OptionError(
            f"{who}: batch_size must be given for a pair of arrays, got None. A "
            "DataSet by itself is one minibatch."
        )


def check_readable(who: str, data: Any, n_passes: int) -> None:
    """Refuse data that can be read once only where several passes are asked for.

    Raises
    ------
    OptionError
        If `data` is an iterator and `n_passes` is more than 1.
    """
    if n_passes > 1 and isinstance(data, Iterator):
        raise OptionError(
            f"{who}: data must be something to read again for {n_passes} passes, got "
            f"{type(data).__name__}. Give a list."
        )


def check_features(
    who: str, inputs: Sequence[ArraySpec], features: Sequence[Any], masks: Sequence[Any]
) -> None:
    """Refuse features or their masks that the inputs cannot take.

    Raises
    ------
    ShapeError
        Naming the input or its first layer, and the shape it needs.
    """
    _check_count(who, "features", len(inputs), len(features))
    _check_count(who, "features masks", len(inputs), len(masks))
    for spec, array, mask in zip(inputs, features, masks, strict=True):
        _check_shape(spec, "features", array)
        _check_features_mask(spec, array, mask)


def check_labels(
    who: str,
    outputs: Sequence[ArraySpec],
    arrays: Arrays,
    *,
    steps: Callable[[int], int | None] | None = None,
) -> None:
    """Refuse labels or their masks that the outputs cannot take.

    Parameters
    ----------
    who : str
        The network.
    outputs : sequence of ArraySpec
        What comes out.
    arrays : Arrays
        The minibatch; its features are checked already.
    steps : function of int -> int or None, optional
        How many time steps come out for so many that go in, if that can be told; the
        labels of time series must be as many.

    Raises
    ------
    DataError
        If there are no labels.
    ShapeError
        Naming the output layer, and the shape it needs.
    """
    if not arrays.labels:
        raise DataError(f"{who}: labels must be given, got none.")
    _check_count(who, "labels", len(outputs), len(arrays.labels))
    pairs = zip(outputs, arrays.labels, arrays.labels_masks, strict=True)
    for spec, array, mask in pairs:
        _check_shape(spec, "labels", array)
        if steps is not None and isinstance(spec.type, Recurrent):
            _check_length(spec, arrays.features[0], array, steps)
        if mask is not None:
            _check_labels_mask(spec, array, mask)


def check_masks_of_outputs(
    who: str, outputs: Sequence[ArraySpec], arrays: Sequence[Any], masks: Sequence[Any]
) -> None:
    """Refuse masks of labels that the outputs of a network cannot take.

    Parameters
    ----------
    who : str
        The network.
    outputs : sequence of ArraySpec
        What comes out.
    arrays : sequence of ndarray
        That, in the data format.
    masks : sequence of (ndarray or None)
        One an output.

    Raises
    ------
    ShapeError
        Naming the output layer, and the shape it needs.
    """
    _check_count(who, "labels masks", len(outputs), len(masks))
    for spec, array, mask in zip(outputs, arrays, masks, strict=True):
        if mask is not None:
            _check_labels_mask(spec, array, mask)


def _check_count(who: str, what: str, expected: int, came: int) -> None:
    if came != expected:
        arrays = "array" if expected == 1 else "arrays"
        raise ShapeError(
            f"{who}: {what} must be {expected} {arrays}, got {came}. "
            "Several are given as a MultiDataSet."
        )


def _check_shape(spec: ArraySpec, what: str, array: Any) -> None:
    if fits(spec.type.border_shape, array):
        if 0 in array.shape[1:]:
            raise ShapeError(
                f"{spec.who}: {what} must have at least one step, got shape "
                f"{array.shape}."
            )
        return
    or_images = ""
    if spec.images is not None:
        if fits(spec.images, array):
            return
        or_images = f" or (batch, {', '.join(map(str, spec.images))})"
    raise ShapeError(
        f"{spec.who}: {what} must have shape {_axes(spec.type)}{or_images}, got "
        f"{array.shape}."
    )


def _axes(input_type: InputType) -> str:
    """Write the shape of a minibatch; a length left open is called time."""
    unknown = "time" if isinstance(input_type, Recurrent) else "any"
    sizes = [unknown if size is None else str(size) for size in input_type.border_shape]
    shape = f"(batch, {', '.join(sizes)})"
    if isinstance(input_type, Recurrent | Convolutional | Convolutional3D):
        return f"{shape} ({input_type.data_format})"
    return shape


def _check_labels_mask(spec: ArraySpec, labels: Any, mask: Any) -> None:
    """Refuse a mask that is neither of examples or steps nor of single outputs."""
    size = len(labels)
    allowed = [(size, 1), labels.shape, (size,)]
    if isinstance(spec.type, Recurrent):
        allowed = [(size, time_steps(spec.type, labels)), labels.shape]
    if isinstance(spec.type, Convolutional | Convolutional3D):
        pixels = labels.shape[1:-1]
        one_channel = (size, *pixels, 1)
        if spec.type.is_channels_first:
            pixels = labels.shape[2:]
            one_channel = (size, 1, *pixels)
        allowed += [(size, *pixels), one_channel]
    if mask.shape not in allowed:
        raise ShapeError(
            f"{spec.who}: labels_mask must have shape {allowed[0]} or {allowed[1]}, "
            f"got {mask.shape}."
        )


def _check_features_mask(spec: ArraySpec, array: Any, mask: Any) -> None:
    if mask is None:
        return
    if isinstance(spec.type, FeedForward) and spec.type.size is None:
        _check_mask_shape(spec, mask, array.shape)
        return
    if isinstance(spec.type, Convolutional) and mask.ndim == 4:
        _check_pixel_mask(spec.who, spec.type, array, mask)
        return
    if not isinstance(spec.type, Recurrent):
        raise ShapeError(
            f"{spec.who}: features_mask must be left out because examples have no time "
            f"steps, got shape {mask.shape}."
        )
    _check_mask_shape(spec, mask, (len(array), time_steps(spec.type, array)))


def _check_mask_shape(spec: ArraySpec, mask: Any, expected: tuple[int, ...]) -> None:
    if mask.shape != expected:
        raise ShapeError(
            f"{spec.who}: features_mask must have shape (batch, time) = {expected}, "
            f"got {mask.shape}."
        )


def _check_pixel_mask(who: str, kind: Convolutional, images: Any, mask: Any) -> None:
    channels = 1 if kind.is_channels_first else 3
    sizes = enumerate(images.shape)
    expected = tuple(1 if axis == channels else size for axis, size in sizes)
    check_pixels(mask, expected, f"{who}: features_mask")


def _check_length(
    spec: ArraySpec, features: Any, labels: Any, steps: Callable[[int], int | None]
) -> None:
    if features.ndim < 3:
        return
    # Inside labels and features of one network have the same format.
    came = time_steps(spec.type, labels)
    expected = steps(time_steps(spec.type, features))
    if expected is not None and came != expected:
        raise ShapeError(
            f"{spec.who}: labels must have {expected} time steps for these features, "
            f"got {came}."
        )


def time_steps(series: Any, array: Any) -> int:
    """Return the number of time steps in `array`."""
    steps: int = array.shape[2 if series.is_channels_first else 1]
    return steps
