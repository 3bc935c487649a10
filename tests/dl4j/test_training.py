"""Training goes on in the real DL4J where we stopped, and the other way round."""

import pytest

from daskdl.dl4j.network import model_zip
from tests.dl4j.batches import random_batch
from tests.dl4j.networks import Trial
from tests.dl4j.training_networks import TRAININGS
from tests.dl4j.trials import built, close

TOLERANCE = {"float32": 1e-6, "float64": 1e-9}
N_STEPS = 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TRAININGS)
def test_minibatches(dl4j, name, dtype, rng, tmp_path):
    network = built(TRAININGS[name], dtype, rng)
    batches = minibatches(network, rng)
    network.fit(batches)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    scores, trained = dl4j.fit(path, batches, dtype=dtype)
    ours = [network.fit_minibatch(batch) for batch in batches]
    close(ours, scores, TOLERANCE[dtype])
    check_same(network, model_zip.load(trained), TOLERANCE[dtype])


@pytest.mark.parametrize("name", [name for name in TRAININGS if "epoch" in name])
def test_epochs(dl4j, name, rng, tmp_path):
    network = built(TRAININGS[name], "float64", rng)
    batches = minibatches(network, rng)
    network.fit(batches, epochs=2)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    _, trained = dl4j.fit(path, batches, dtype="float64", epochs=3)
    network.fit(batches, epochs=3)
    check_same(network, model_zip.load(trained), TOLERANCE["float64"])


@pytest.mark.parametrize("name", ["adam", "rmsprop", "tbptt, lstm", "graph"])
def test_there_and_back(dl4j, name, rng, tmp_path):
    """What DL4J saved goes on here as if it had never been away."""
    network = built(TRAININGS[name], "float64", rng)
    batches = minibatches(network, rng)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    _, trained = dl4j.fit(path, batches, dtype="float64")
    again = model_zip.load(trained)
    again.fit(batches)
    for _ in range(2):
        for batch in batches:
            network.fit_minibatch(batch)
    close(again.params, network.params, TOLERANCE["float64"])
    close(again.updater_state, network.updater_state, TOLERANCE["float64"])


def minibatches(network, rng):
    trial = Trial(network.conf)
    return [random_batch(trial, network, rng) for _ in range(N_STEPS)]


def check_same(found, expected, tolerance):
    close(found.params, expected.params, tolerance)
    close(found.updater_state, expected.updater_state, tolerance)
    assert found.iteration_count == expected.iteration_count
    assert found.epoch_count == expected.epoch_count
