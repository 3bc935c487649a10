"""Networks of every kind that we saved: the real DL4J loads, computes and trains."""

import pytest

from daskdl.dl4j.network import model_zip
from daskdl.nn.batches import as_arrays
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.vertices.table import VERTICES
from tests.dl4j.batches import random_batch
from tests.dl4j.graph_networks import GRAPHS
from tests.dl4j.layer_networks import SEQUENCES
from tests.dl4j.networks import as_graph
from tests.dl4j.option_networks import OPTIONS
from tests.dl4j.real_dl4j import RefusedError
from tests.dl4j.trials import built, close, outputs

TRIALS = {**SEQUENCES, **GRAPHS, **OPTIONS}
COMPUTED = [name for name, trial in TRIALS.items() if not trial.fails]
TRAINED = [
    name
    for name in COMPUTED
    if not (TRIALS[name].not_trained or TRIALS[name].fails_in_training)
]
# Relative to the largest number of an array.
TOLERANCE = {"float32": 1e-6, "float64": 1e-10}
N_STEPS = 2


def kinds(conf):
    """Return the classes of all layers and vertices of a network."""
    parts = conf.layers if hasattr(conf, "layers") else conf.vertices.values()
    found = set()
    for part in parts:
        while part is not None:
            found.add(type(part))
            part = getattr(part, "layer", None) or getattr(part, "vertex", None)
    return found


def test_every_kind_of_layer_and_vertex_is_tried():
    tried = set().union(*(kinds(trial.conf) for trial in TRIALS.values()))
    assert {*LAYERS, *VERTICES} - tried == set()


def test_no_two_networks_share_a_name():
    assert len(TRIALS) == len(SEQUENCES) + len(GRAPHS) + len(OPTIONS)


def saved(conf, trial, dtype, rng, path):
    network = built(conf, dtype, rng)
    model_zip.save(network, path)
    return network, random_batch(trial, network, rng)


def compare_outputs(dl4j, trial, conf, dtype, rng, path):
    network, batch = saved(conf, trial, dtype, rng, path)
    arrays = as_arrays("test", batch)
    expected = dl4j.output(path, arrays, dtype=dtype)
    for ours, theirs in zip(outputs(network, arrays), expected, strict=True):
        assert ours.dtype == theirs.dtype
        if theirs.ndim == 1:
            # A one-class network gives a vector in DL4J.
            theirs = theirs[:, None]
        close(ours, theirs, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", COMPUTED)
def test_outputs(dl4j, name, dtype, rng, tmp_path):
    trial = TRIALS[name]
    compare_outputs(dl4j, trial, trial.conf, dtype, rng, tmp_path / "model.zip")


@pytest.mark.parametrize("name", [name for name in SEQUENCES if name in COMPUTED])
def test_outputs_as_graph(dl4j, name, rng, tmp_path):
    trial = TRIALS[name]
    conf = as_graph(trial.conf)
    compare_outputs(dl4j, trial, conf, "float64", rng, tmp_path / "model.zip")


@pytest.mark.parametrize("name", TRAINED)
def test_training_goes_on(dl4j, name, rng, tmp_path):
    """Parameters and updater state are the same, wherever the last steps are done."""
    trial = TRIALS[name]
    path = tmp_path / "model.zip"
    network, _ = saved(trial.conf, trial, "float64", rng, path)
    batches = [random_batch(trial, network, rng) for _ in range(N_STEPS)]
    network.fit(batches)
    model_zip.save(network, path, overwrite=True)
    scores, trained = dl4j.fit(path, batches, dtype="float64")
    ours = [network.fit_minibatch(batch) for batch in batches]
    if not trial.miscounted:
        close(ours, scores, 1e-9)
    again = model_zip.load(trained)
    close(network.params, again.params, 1e-9)
    close(network.updater_state, again.updater_state, 1e-9)


@pytest.mark.parametrize("name", [name for name in TRIALS if TRIALS[name].fails])
def test_what_dl4j_cannot_compute(dl4j, name, rng, tmp_path):
    trial, path = TRIALS[name], tmp_path / "model.zip"
    _, batch = saved(trial.conf, trial, "float64", rng, path)
    with pytest.raises(RefusedError, match=trial.fails):
        dl4j.output(path, as_arrays("test", batch), dtype="float64")


@pytest.mark.parametrize(
    "name", [name for name in TRIALS if TRIALS[name].fails_in_training]
)
def test_what_dl4j_cannot_train(dl4j, name, rng, tmp_path):
    trial, path = TRIALS[name], tmp_path / "model.zip"
    _, batch = saved(trial.conf, trial, "float64", rng, path)
    with pytest.raises(RefusedError, match=trial.fails_in_training):
        dl4j.fit(path, [batch], dtype="float64")
