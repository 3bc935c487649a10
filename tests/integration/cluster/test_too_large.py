"""Networks that do not fit into their workers."""

import time
from contextlib import contextmanager

import pytest
from distributed import Client, LocalCluster

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


@contextmanager
def front_end(network, **options):
    """Yield a front end of one worker that is ended beyond 600 MiB."""
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="600MiB",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        master = dl.SharedTrainingMaster(**options)
        yield DaskMultiLayer(client, network, master)


def fit(front):
    return front.fit(numbered_examples(EXAMPLES), batch_size=8, listeners=[])


def test_a_network_that_does_not_fit_is_refused_before_anything_is_sent():
    with front_end(large_network(40_000_000)) as front:
        began_s = time.monotonic()
        with pytest.raises(OptionError, match=r"at least 1,2\d\d MiB: parameters 1"):
            fit(front)
        assert time.monotonic() - began_s < 10
        # Nobody was ended.
        (nanny,) = front._client.cluster.workers.values()
        assert nanny.worker_address in front._client.nthreads()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_workers_that_are_ended_before_they_train_end_the_fit(monkeypatch):
    """As if it might fit: three starts in a row end for memory, and then the fit."""
    monkeypatch.setattr(member_memory, "_IMPORTED_BYTES", -(1 << 40))
    with front_end(large_network(15_000_000)) as front:
        with pytest.raises(
            WorkerLostError, match=r"none had trained a minibatch\. A member holds at"
        ):
            fit(front)
        assert len(front.last_fit.rejoined) == 2


def test_a_network_that_fits_is_trained_without_a_death():
    """It holds a third of what is left for it, and has the rest for the fit."""
    with front_end(large_network(5_000_000)) as front:
        fit(front)
        assert front.last_fit.lost == []
