"""Random minibatches for the networks that are tried."""

import numpy as np

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.nn.conf.input_type import FeedForward, Recurrent

BATCH_SIZE = 5
STEPS = 6

# Losses whose labels are probabilities that add up to 1.
_ONE_HOT = ("mcxent", "negativeloglikelihood", "kl_divergence", "fmeasure")
_DRAWN = {
    "numbers below 3": lambda rng, shape: rng.integers(0, 3, shape),
    "positive": lambda rng, shape: rng.uniform(0.1, 2, shape),
    "signs": lambda rng, shape: rng.choice([-1, 1], shape),
    "one of two": lambda rng, shape: rng.integers(0, 2, shape),
}


def random_batch(trial, network, rng):
    """Return a DataSet, or a MultiDataSet for several inputs or outputs."""
    dtype = network.dtype
    features = [
        _features(port.type, trial.features.get(i), rng).astype(dtype)
        for i, port in enumerate(network.inputs)
    ]
    losses = network.output_losses
    labels = [
        _labels(port.type, losses[i], trial.labels.get(i), rng).astype(dtype)
        for i, port in enumerate(network.labels)
    ]
    masks = [
        _mask(array, port.type, dtype) if trial.has_features_masks else None
        for array, port in zip(features, network.inputs, strict=True)
    ]
    labels_masks = [
        _mask(array, port.type, dtype) if trial.has_labels_masks else None
        for array, port in zip(labels, network.labels, strict=True)
    ]
    if len(features) == len(labels) == 1:
        return DataSet(features[0], labels[0], masks[0], labels_masks[0])
    return MultiDataSet(features, labels, masks, labels_masks)


def _features(input_type, kind, rng):
    shape = _shape(input_type)
    if kind == "numbers below 7":
        return rng.integers(0, 7, shape)
    values = rng.standard_normal(shape)
    if kind == "zeros at the end":
        values[:, :, -2:] = 0
    return values


def _labels(output_type, loss, kind, rng):
    if kind == "objects":
        return _objects(output_type, rng)
    shape = _shape(output_type)
    if kind in _DRAWN:
        return _DRAWN[kind](rng, shape)
    if loss in _ONE_HOT:
        return _one_hot(shape, _channel_axis(output_type), rng)
    if loss == "xent":
        return rng.integers(0, 2, shape)
    return rng.standard_normal(shape)


def _shape(input_type):
    sizes = (STEPS if n is None else n for n in input_type.border_shape)
    return (BATCH_SIZE, *sizes)


def _channel_axis(output_type):
    is_last = getattr(output_type, "data_format", "").endswith("C")
    return -1 if is_last or isinstance(output_type, FeedForward) else 1


def _one_hot(shape, axis, rng):
    others = list(shape)
    n_classes = others.pop(axis)
    classes = rng.integers(0, n_classes, others)
    return np.moveaxis(np.eye(n_classes)[classes], -1, axis)


def _mask(array, input_type, dtype):
    """Return series of several lengths; numbers of an embedding are series too."""
    is_series = isinstance(input_type, Recurrent)
    if not is_series and getattr(input_type, "size", 0) is not None:
        return None
    axis = 2 if is_series and input_type.data_format == "NCW" else 1
    steps = array.shape[axis]
    lengths = steps - np.arange(len(array)) % (steps - 1)
    return (np.arange(steps) < lengths[:, None]).astype(dtype)


def _objects(grid, rng):
    """Return one object in each image: corners in grid cells, and its class."""
    labels = np.zeros((BATCH_SIZE, *grid.border_shape))
    for i in range(BATCH_SIZE):
        row, column = rng.integers(0, grid.height), rng.integers(0, grid.width)
        center = np.array([column, row]) + rng.uniform(0.2, 0.8, 2)
        half = rng.uniform(0.3, 0.9, 2)
        labels[i, :2, row, column] = center - half
        labels[i, 2:4, row, column] = center + half
        labels[i, rng.integers(4, grid.channels), row, column] = 1
    return labels
