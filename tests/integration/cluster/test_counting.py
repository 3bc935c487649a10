"""Which example was applied how often, over real processes: counted by the network."""

import os
import signal
import threading
from enum import Enum, auto

import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.nn.fitting.events import EpochFinished
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.listening import Events

EXAMPLES, BATCH, EPOCHS = 600, 4, 5


class Fault(Enum):
    """What happens to one worker in the second epoch."""

    NONE = auto()
    KILLED = auto()
    STOPPED_FOR_A_WHILE = auto()
    ANOTHER_JOINS = auto()


class Fate:
    """Let the fault happen a moment after the first epoch."""

    def __init__(self, client, fault):
        self._client, self._fault = client, fault
        self._pid = sorted(client.run(os.getpid).items())[1][1]

    def __call__(self, event):
        if isinstance(event, EpochFinished) and event.epoch == 1:
            self._strike()

    def _strike(self):
        if self._fault is Fault.KILLED:
            self._later(0.05, signal.SIGKILL)
        elif self._fault is Fault.STOPPED_FOR_A_WHILE:
            self._later(0.05, signal.SIGSTOP)
            self._later(0.8, signal.SIGCONT)
        elif self._fault is Fault.ANOTHER_JOINS:
            self._client.cluster.scale(3)
            self._client.wait_for_workers(3, timeout=60)

    def _later(self, delay_s, sent):
        threading.Timer(delay_s, os.kill, (self._pid, sent)).start()


@pytest.mark.parametrize("fault", Fault)
def test_every_example_is_applied_and_what_is_applied_twice_is_told(cluster_of, fault):
    client = cluster_of(2)
    network = counting_network(EXAMPLES, BATCH)
    front = DaskMultiLayer(client, network, counting_master())
    fate = Fate(client, fault)
    front.fit(
        numbered_examples(EXAMPLES),
        epochs=EPOCHS,
        batch_size=BATCH,
        listeners=Events(fate),
    )
    assert_counts(network, front.last_fit, examples=EXAMPLES, epochs=EPOCHS)
