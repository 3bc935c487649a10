"""When a publisher is told what came: seldom, unless it may be waiting."""

import asyncio

import numpy as np
import pytest

from daskdl.cluster.bus import acknowledging as acknowledging_module
from daskdl.cluster.bus.acknowledging import Acknowledging
from daskdl.cluster.bus.payload import Parcel, encode
from daskdl.cluster.bus.protocol import ACK_BYTES, ACK_MESSAGES

SHORT_S = 0.05


class Comm:
    """A connection that keeps what is written, or breaks."""

    def __init__(self, error=None):
        self.written = []
        self.is_aborted = False
        self._error = error

    async def write(self, message):
        if self._error is not None:
            raise self._error
        self.written.append(message["ack"])

    def abort(self):
        self.is_aborted = True


def message(number, nbytes=8):
    return number, Parcel(number, number, encode(np.zeros(nbytes, np.uint8)))


def told(comm, batches, *, after_s, monkeypatch, within_s=60.0):
    """Return what was written a while after the batches came."""
    monkeypatch.setattr(acknowledging_module, "ACK_WITHIN_S", within_s)
    delivered = 0

    async def run():
        nonlocal delivered
        telling = Acknowledging(comm, lambda: delivered)
        telling.start()
        for batch in batches:
            delivered = batch[-1][0]
            telling.owe(batch)
        await asyncio.sleep(after_s)
        telling.stop()

    asyncio.run(run())
    return comm.written


def test_few_messages_are_acknowledged_together_after_a_while(monkeypatch):
    batches = [[message(number)] for number in range(1, 4)]
    assert told(Comm(), batches, after_s=SHORT_S, monkeypatch=monkeypatch) == []
    comm = Comm()
    told(comm, batches, after_s=4 * SHORT_S, within_s=SHORT_S, monkeypatch=monkeypatch)
    assert comm.written == [3]


@pytest.mark.parametrize(
    "batch",
    [
        [message(number + 1) for number in range(ACK_MESSAGES)],
        [message(1, ACK_BYTES)],
        [message(1), (2, Parcel(2, 2, None))],
    ],
    ids=["many", "large", "the last word"],
)
def test_whoever_may_wait_for_it_is_told_at_once(monkeypatch, batch):
    found = told(Comm(), [batch], after_s=SHORT_S, monkeypatch=monkeypatch)
    assert found == [batch[-1][0]]


def test_a_connection_that_takes_no_acknowledgement_is_cut(monkeypatch):
    """Else its publisher would wait for ever, with all of its window used."""
    comm = Comm(OSError("broken"))
    batch = [message(1, ACK_BYTES)]
    told(comm, [batch], after_s=SHORT_S, monkeypatch=monkeypatch)
    assert comm.is_aborted
