"""A cluster that is scaled, adapted and killed in all that runs on it."""

import os
import random
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest
from distributed import Client, LocalCluster

from daskdl.cluster.frontend import DaskMultiLayer
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.integration.cluster.disturbed import assert_nothing_is_left

EXAMPLES, BATCH, EPOCHS = 600, 4, 30
EVERY_S = 1.5
LEAST_CHANGES = 16


class Changes(threading.Thread):
    """Changes the number of workers, and kills one, every few seconds."""

    def __init__(self, cluster, client):
        super().__init__()
        self._cluster, self._client = cluster, client
        self._rng = random.Random(1)
        self._is_over = threading.Event()
        self.made = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._is_over.set()
        self.join()

    def run(self):
        changes = [self._adapt_to_few, self._kill, self._scale, self._adapt_to_many]
        while not self._is_over.wait(EVERY_S):
            changes[self.made % len(changes)]()
            self.made += 1

    def _adapt_to_few(self):
        self._cluster.adapt(minimum=1, maximum=2)

    def _adapt_to_many(self):
        self._cluster.adapt(minimum=1, maximum=4)

    def _scale(self):
        # Until it is adapted again.
        self._cluster.scale(self._rng.randint(1, 4))

    def _kill(self):
        def pids(dask_scheduler):
            return [state.pid for state in dask_scheduler.workers.values()]

        there = self._client.run_on_scheduler(pids)
        if there:
            with suppress(ProcessLookupError):
                os.kill(self._rng.choice(there), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fits_evaluations_and_predictions_on_a_cluster_that_changes():
    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        cluster.adapt(minimum=1, maximum=4)
        data = numbered_examples(EXAMPLES)
        told = []
        with Changes(cluster, client) as changes:
            # Some changes come between two fits, or to nobody.
            while changes.made < LEAST_CHANGES or not told:
                network = counting_network(EXAMPLES, BATCH)
                front = DaskMultiLayer(client, network, counting_master())
                front.fit(data, epochs=EPOCHS, batch_size=BATCH)
                report = front.last_fit
                told += [*report.lost, *report.joined, *report.rejoined]
                assert_counts(network, report, examples=EXAMPLES, epochs=EPOCHS)
                expected = np.mean(np.abs(data.labels[:, 0] - network.params))
                assert front.score(data) == pytest.approx(expected)
                pairs = [(n, row) for n, row in enumerate(data.features)]
                predicted = front.feed_forward_with_key(pairs, batch_size=BATCH)
                found = np.array([row for _, row in predicted])
                assert [key for key, _ in predicted] == list(range(EXAMPLES))
                np.testing.assert_array_equal(found[:, 0], np.asarray(network.params))
        assert_nothing_is_left(client)
