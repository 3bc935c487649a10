"""Epochs that are longer than any worker lives."""

import os
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import ParameterAveragingTrainingMaster
from daskdl.nn.fitting.events import EpochFinished, Progress
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.integration.cluster.disturbed import assert_nothing_is_left
from tests.integration.cluster.faults.pool import Pool
from tests.listening import Events

# Six seconds of two workers an epoch, of which they live four.
EXAMPLES, BATCH, EPOCHS = 240, 4, 2
LIVES_S = 4.0
# Dask runs it more than once in a process.
SLOW_TRAINING = """
import time
from daskdl.nn.multilayer import MultiLayerNetwork

def slow(trained_at_once):
    def trained(self, *args, **how):
        time.sleep(0.2)
        return trained_at_once(self, *args, **how)
    trained.is_slow = True
    return trained

if not hasattr(MultiLayerNetwork.fit_minibatch, "is_slow"):
    MultiLayerNetwork.fit_minibatch = slow(MultiLayerNetwork.fit_minibatch)
"""


class AllKiller:
    """Kills all workers when they have trained for a while, whenever they come back."""

    def __init__(self, pool):
        self._pool = pool
        self._since_s = None
        self.kills, self.epochs = 0, []

    def __call__(self, event):
        now = time.monotonic()
        if isinstance(event, EpochFinished):
            self.epochs.append(event.epoch)
        if not isinstance(event, Progress):
            return
        if self._since_s is None:
            self._since_s = now
        elif now - self._since_s > LIVES_S:
            self._since_s = None
            self.kills += 1
            for pid in self._pool.pids().values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "master",
    [counting_master(), ParameterAveragingTrainingMaster(averaging_frequency=3)],
    ids=["sharing", "averaging"],
)
def test_an_epoch_longer_than_workers_live_ends(tmp_path, master):
    slowly = tmp_path / "slowly.py"
    slowly.write_text(SLOW_TRAINING)
    network = counting_network(EXAMPLES, BATCH)
    with Pool(tmp_path, "--preload", str(slowly)) as pool:
        front = DaskMultiLayer(pool.client, network, master)
        killer = AllKiller(pool)
        front.fit(
            numbered_examples(EXAMPLES),
            epochs=EPOCHS,
            batch_size=BATCH,
            listeners=Events(killer),
        )
        report = front.last_fit
        assert killer.epochs == [1, 2]
        assert killer.kills >= EPOCHS
        assert report.rejoined
        assert report.examples - report.repeated_examples == EXAMPLES * EPOCHS
        assert np.asarray(network.params).min() > 0
        if master == counting_master():
            assert_counts(network, report, examples=EXAMPLES, epochs=EPOCHS)
        assert_nothing_is_left(pool.client)
