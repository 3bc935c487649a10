"""Convolutions and capsules: DL4J's numbers from our configurations."""

import numpy as np
import pytest

from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dialects import DL4J
from tests.golden.convolution_cases import MODELS, TRAINING
from tests.golden.networks import Golden, Replay, arrays, deviation

# What DL4J infers for the size behind these is wrong: it cannot compute its own
# networks. The layers themselves are in the cases with pooling behind them.
WRONG_SIZE = ("conv3d", "deconv3d")
# The gradient of series with channels last is more than DL4J's conv1d_bp can do.
NO_GRADIENT = ("conv1d_nwc",)
COMPUTED = [name for name in MODELS if name not in WRONG_SIZE]
TRAINED = [name for name in COMPUTED if name not in NO_GRADIENT]


def case(golden, name, precision="double"):
    return Golden(golden / "models", name, MODELS[name], precision)


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize(("precision", "bound"), [("double", 1e-12), ("float", 1e-6)])
def test_output(golden, name, precision, bound):
    found = case(golden, name, precision)
    assert deviation(found.output(), found.expected["out0"]) < bound


@pytest.mark.parametrize("name", TRAINED)
def test_gradient(golden, name):
    found = case(golden, name)
    _, gradient = found.gradient()
    assert deviation(gradient, found.expected["grad"]) < 1e-12


@pytest.mark.parametrize("name", TRAINED)
def test_score(golden, name):
    found = case(golden, name)
    score, _ = found.gradient()
    assert deviation(score, found.expected["score"]) < 1e-12
    inference = found.network.compute_score(found.data)
    assert deviation(inference, found.expected["score_inference"]) < 1e-12


@pytest.mark.parametrize("name", TRAINED)
def test_score_of_each_example(golden, name):
    found = case(golden, name)
    scores = found.network.score_examples(found.data, include_regularization=True)
    assert deviation(scores, found.expected["score_examples"]) < 1e-12


@pytest.mark.parametrize("name", WRONG_SIZE)
def test_what_dl4j_cannot_compute_is_computed(golden, name):
    expected = arrays(golden / "models" / f"{name}.npz", "double.")
    network = MultiLayerNetwork(MODELS[name].replaced(dtype="float64", dialect=DL4J))
    output = network.output(expected["x0"])
    np.testing.assert_allclose(output.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("name", TRAINING)
def test_training(golden, name):
    replay = Replay(golden / "training", name, TRAINING[name]).run()
    assert deviation(replay.params, replay.expected["params"]) < 1e-12
    assert deviation(replay.scores, replay.expected["scores"]) < 1e-12
