"""What tests do with a trial: build the network, save it, compare with DL4J."""

import numpy as np

from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork


def built(conf, dtype, rng):
    """Return a network whose parameters are nowhere as they begin."""
    kind = MultiLayerNetwork if hasattr(conf, "layers") else ComputationGraph
    network = kind(conf.replaced(dtype=dtype))
    network.params[...] += 0.2 * rng.standard_normal(network.n_params)
    for slot in network.running_slots:
        if slot.name.endswith("_var"):
            view = network.params[slot.offset : slot.stop]
            view[...] = np.abs(view) + 0.5
    return network


def outputs(network, arrays):
    """Return what a network predicts with the masks of a minibatch, as a list."""
    masks = arrays.labels_masks
    found = network.output(
        arrays.features,
        features_mask=arrays.features_masks,
        labels_mask=masks if any(mask is not None for mask in masks) else None,
    )
    return found if isinstance(found, list) else [found]


def close(found, expected, tolerance):
    """Compare, relative to the largest number of an array."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=0) or 1
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=tolerance)
