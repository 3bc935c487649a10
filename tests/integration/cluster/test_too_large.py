"""Networks that do not fit into their workers."""

import time

import pytest

import daskdl as dl
from daskdl.cluster import member_memory
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.errors import OptionError, WorkerLostError
from tests.counting import numbered_examples

EXAMPLES = 64


def large_network(params):
    """Return a network of so many parameters, whose updater keeps twice as many."""
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            updater=dl.Adam(),
            input=dl.FeedForward(size=EXAMPLES),
            layers=[
                dl.Dense(n_out=params // EXAMPLES, activation="relu", has_bias=False),
                dl.Output(n_out=1, loss="l1", activation="identity", has_bias=False),
            ],
        )
    ).init()


@pytest.fixture
def front_end(cluster_of):
    """Return a function that gives a front end of one worker, ended beyond 600 MiB."""

    def made(network):
        client = cluster_of(1, memory_limit="600MiB")
        return DaskMultiLayer(client, network, dl.SharedTrainingMaster())

    return made


def fit(front):
    return front.fit(numbered_examples(EXAMPLES), batch_size=8, listeners=[])


def test_a_network_that_does_not_fit_is_refused_before_anything_is_sent(front_end):
    front = front_end(large_network(40_000_000))
    began_s = time.monotonic()
    with pytest.raises(OptionError, match=r"at least 1,2\d\d MiB: parameters 1"):
        fit(front)
    assert time.monotonic() - began_s < 10
    # Nobody was ended.
    (nanny,) = front._client.cluster.workers.values()
    assert nanny.worker_address in front._client.nthreads()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_workers_that_are_ended_before_they_train_end_the_fit(front_end, monkeypatch):
    """As if it might fit: three starts in a row end for memory, and then the fit."""
    monkeypatch.setattr(member_memory, "_IMPORTED_BYTES", -(1 << 40))
    front = front_end(large_network(15_000_000))
    with pytest.raises(
        WorkerLostError, match=r"none had trained a minibatch\. A member holds at"
    ):
        fit(front)
    assert len(front.last_fit.rejoined) == 2


def test_a_network_that_fits_is_trained_without_a_death(front_end):
    """It holds a third of what is left for it, and has the rest for the fit."""
    front = front_end(large_network(5_000_000))
    fit(front)
    assert front.last_fit.lost == []
