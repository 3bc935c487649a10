"""A member whose memory is filled between two heartbeats."""

import threading
from dataclasses import replace

import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting.events import Progress
from tests.counting import counting_master, counting_network, numbered_examples
from tests.listening import Events


def fill():
    """Hold more than the worker may, until its nanny ends it."""
    held = bytearray(600 << 20)
    held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])
    threading.Event().wait(60)
    return len(held)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_report_says_that_a_nanny_ended_a_member(cluster_of):
    client = cluster_of(1, memory_limit="600MiB")
    filling = []

    def begin(event):
        if isinstance(event, Progress) and not filling:
            filling.append(client.submit(fill, retries=0))

    master = replace(counting_master(), rejoin_timeout_s=0)
    front = DaskMultiLayer(client, counting_network(600, 4), master)
    with pytest.raises(WorkerLostError, match="Dask ended it, as"):
        front.fit(
            numbered_examples(600),
            epochs=10**6,
            batch_size=4,
            listeners=Events(begin),
        )
