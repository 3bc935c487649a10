"""Parameter averaging on workers against the real DL4J on Spark, fit by fit.

The recordings are of DL4J 1.0.0-M2 in double precision; their own tolerance is 1e-9.
"""

import functools
from pathlib import Path

import numpy as np
import pytest

from daskdl import Dense, Output
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import ParameterAveragingTrainingMaster
from daskdl.data.dataset import DataSet
from daskdl.dl4j.network.parameters import from_dl4j
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.updaters import Adam, Nesterovs, RmsProp, Sgd
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dialects import DL4J

DATA = Path(__file__).parents[2] / "data" / "averaging"
ADAM = Adam(learning_rate=0.02)
# name of the recording: workers, averaging frequency, updater, save_updater
CASES = {
    "avg_1worker_adam_saveupdater": (1, 5, ADAM, True),
    "avg_2workers_sgd_freq1": (2, 1, Sgd(learning_rate=0.1), True),
    "avg_2workers_adam_freq3": (2, 3, ADAM, True),
    "avg_2workers_adam_freq3_nosave": (2, 3, ADAM, False),
    "avg_2workers_rmsprop_freq3": (2, 3, RmsProp(learning_rate=0.01), True),
    "avg_5workers_nesterovs_depth3": (
        5,
        2,
        Nesterovs(learning_rate=0.1, momentum=0.05),
        True,
    ),
}


@pytest.fixture(scope="module")
def clients(module_cluster_of):
    """Return a function that gives a cluster of n workers; each is started once."""
    return functools.cache(module_cluster_of)


@pytest.mark.parametrize("name", CASES)
def test_parameters_after_every_fit_are_those_of_dl4j_on_spark(clients, name):
    workers, frequency, updater, save_updater = CASES[name]
    with np.load(DATA / f"{name}.npz") as file:
        golden = dict(file)
    network = small_network(updater)
    network.params[...] = from_dl4j(network, golden["params_init"])
    front = DaskMultiLayer(
        clients(workers),
        network,
        ParameterAveragingTrainingMaster(
            averaging_frequency=frequency, save_updater=save_updater
        ),
    )
    for fit in range(len(golden["epoch_count"])):
        front.fit(in_turn(golden, fit))
        expected = from_dl4j(network, golden[f"fit{fit}.params"])
        np.testing.assert_allclose(network.params, expected, rtol=1e-9, atol=1e-12)


def small_network(updater):
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            dialect=DL4J,
            input=FeedForward(size=4),
            layers=[Dense(n_out=5, activation="tanh"), Output(n_out=3)],
            updater=updater,
            l2=0.01,
            dtype="float64",
        )
    )


def in_turn(golden, fit):
    """Return the minibatches so that each worker gets those of its Spark partition."""
    sizes = golden[f"fit{fit}.partition_sizes"]
    starts = np.cumsum(sizes) - sizes
    order = [start + step for step in range(max(sizes)) for start in starts]
    return [DataSet(golden[f"fit{fit}.x{i}"], golden[f"fit{fit}.y{i}"]) for i in order]
