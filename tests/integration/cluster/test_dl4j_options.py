"""Options of DL4J's masters that decide how a fit goes on a cluster."""

import numpy as np
import pytest

from daskdl import DaskMultiLayer, ParameterAveragingTrainingMaster


@pytest.fixture(scope="module")
def client(module_cluster_of):
    return module_cluster_of(2)


def trained(client, network, examples, **options):
    master = ParameterAveragingTrainingMaster(dealing="fixed", **options)
    front = DaskMultiLayer(client, network(), master)
    front.fit((examples.features, examples.labels), shuffle=True)
    return front


def test_the_master_says_how_many_examples_a_minibatch_has(client, network, blobs):
    front = trained(client, network, blobs(96), batch_size_per_worker=12)
    assert front.network.iteration_count == 4


def test_the_seed_of_the_master_is_that_of_the_order(client, network, blobs):
    first, again, other = (
        trained(client, network, blobs(96), batch_size_per_worker=8, rng_seed=seed)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.network.params, again.network.params)
    assert (first.network.params != other.network.params).any()
