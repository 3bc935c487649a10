"""Options of DL4J's masters that decide how a fit goes on a cluster."""

import numpy as np
import pytest

from daskdl import (
    DaskMultiLayer,
    Evaluation,
    Listener,
    ParameterAveragingTrainingMaster,
)


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


def test_copies_of_the_network_are_bounded_on_workers(client, network, blobs):
    front = DaskMultiLayer(client, network())
    data = list(blobs(300).batches(30))
    found = front.do_evaluation(data, [Evaluation()], eval_num_workers=1)[0]
    expected = front.network.evaluate(blobs(300))
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)


def test_listeners_that_were_set_hear_of_a_fit(client, network, blobs):
    class Heard(Listener):
        epochs = 0

        def on_epoch_end(self, fit):
            self.epochs += 1

    front, heard = DaskMultiLayer(client, network()), Heard()
    front.set_listeners(heard)
    front.fit(blobs(96), batch_size=12, epochs=2)
    assert heard.epochs == 2
    assert front.get_score() == front.last_fit.epochs[-1].score
