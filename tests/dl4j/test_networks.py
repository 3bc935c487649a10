"""Networks of every kind that we saved: what the real DL4J computes with them."""

import numpy as np
import pytest

from daskdl.formats.dl4j import model_zip
from daskdl.nn.batches import as_arrays
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dl4j.batches import random_batch
from tests.dl4j.networks import SEQUENCES, as_graph

# Relative to the largest number of an array.
OUTPUT = {"float32": 1e-6, "float64": 1e-10}


def built(conf, dtype, rng):
    """Return a network with parameters that are nowhere 0."""
    kind = MultiLayerNetwork if hasattr(conf, "layers") else ComputationGraph
    network = kind(conf.replaced(dtype=dtype))
    noise = 0.2 * rng.standard_normal(network.n_params)
    network.params[...] += noise.astype(dtype)
    for slot in network.running_slots:
        view = network.params[slot.offset : slot.stop]
        if slot.name.endswith("_var"):
            view[...] = np.abs(view) + 0.5
    return network


def compared(dl4j, trial, conf, dtype, rng, tmp_path):
    network = built(conf, dtype, rng)
    batch = random_batch(trial, network, rng)
    arrays = as_arrays("test", batch)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    expected = dl4j.output(path, arrays, dtype=dtype)
    masks = [mask for mask in arrays.labels_masks if mask is not None]
    found = network.output(
        arrays.features,
        features_mask=arrays.features_masks,
        labels_mask=arrays.labels_masks if masks else None,
    )
    found = found if isinstance(found, list) else [found]
    for ours, theirs in zip(found, expected, strict=True):
        close(ours, theirs, OUTPUT[dtype])


def close(found, expected, tolerance):
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=0) or 1
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_outputs(dl4j, name, dtype, rng, tmp_path):
    trial = SEQUENCES[name]
    compared(dl4j, trial, trial.conf, dtype, rng, tmp_path)


@pytest.mark.parametrize("name", SEQUENCES)
def test_outputs_as_graph(dl4j, name, rng, tmp_path):
    trial = SEQUENCES[name]
    compared(dl4j, trial, as_graph(trial.conf), "float64", rng, tmp_path)
