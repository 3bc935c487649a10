"""Ten training steps of each network, number by number against DL4J 1.0.0-M2.1.

The recordings are from its double precision; their own tolerance is 1e-9 relative, and
2e-5 in single precision.
"""

from pathlib import Path

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.network.parameters import from_dl4j
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dialects import DL4J
from tests.unit.networks.training_cases import CASES

DATA = Path(__file__).parents[2] / "data" / "training"
# A bias before batch normalization has a gradient of 0; Adam makes steps of full size
# of what single precision leaves of it, and the running mean follows them.
NOISE = {"float_batchnorm_cnn": {"0_b", "1_mean"}}


def build(conf, golden):
    conf = conf.replaced(dialect=DL4J)
    sequential = isinstance(conf, MultiLayerConfiguration)
    network = (MultiLayerNetwork if sequential else ComputationGraph)(conf)
    network.params[...] = from_dl4j(network, golden["params_init"])
    return network


def minibatches(golden):
    n_steps = len(golden["params"])
    n_given = sum(key.startswith("x") and not key.endswith(".1") for key in golden)
    for step in range(n_steps):
        i = step % n_given
        if f"x{i}" in golden:
            masks = (golden.get(f"fm{i}"), golden.get(f"lm{i}"))
            yield DataSet(golden[f"x{i}"], golden[f"y{i}"], *masks)
        else:
            pairs = [[golden[f"{what}{i}.{k}"] for k in (0, 1)] for what in "xy"]
            yield MultiDataSet(*pairs)


def load(name):
    with np.load(DATA / f"{name}.npz") as file:
        return dict(file)


@pytest.mark.parametrize("name", CASES)
def test_parameters_after_every_step_are_those_of_dl4j(name):
    golden, rtol = load(name), 2e-5 if name.startswith("float") else 1e-9
    network = build(CASES[name], golden)
    compared = [s.name for s in network.layout if s.name not in NOISE.get(name, ())]
    for step, batch in enumerate(minibatches(golden)):
        network.fit_minibatch(batch)
        expected = network.layout.views(from_dl4j(network, golden["params"][step]))
        for param in compared:
            np.testing.assert_allclose(
                network.param_table()[param],
                expected[param],
                rtol=rtol,
                atol=rtol,
                err_msg=f"{param}, step {step}",
            )


@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_dl4j(name):
    golden, rtol = load(name), 2e-5 if name.startswith("float") else 1e-9
    network = build(CASES[name], golden)
    scores = [network.fit_minibatch(batch) for batch in minibatches(golden)]
    np.testing.assert_allclose(scores, golden["scores"], rtol=rtol)


@pytest.mark.parametrize("name", ["nesterovs", "adam", "adagrad", "rmsprop", "lstm"])
def test_updater_state_is_that_of_dl4j_part_by_part(name):
    golden = load(name)
    network = build(CASES[name], golden)
    for batch in minibatches(golden):
        network.fit_minibatch(batch)
    parts = golden["updater"].reshape(-1, network.n_params)
    expected = np.concatenate([from_dl4j(network, part) for part in parts])
    np.testing.assert_allclose(network.updater_state, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", ["bias_updater", "two_updaters"])
def test_updater_state_of_blocks_lies_in_the_order_of_dl4j(name):
    golden = load(name)
    network = build(CASES[name], golden)
    for batch in minibatches(golden):
        network.fit_minibatch(batch)
    assert network.updater_state.size == golden["updater"].size
    np.testing.assert_allclose(
        np.sort(network.updater_state), np.sort(golden["updater"]), rtol=1e-9
    )
