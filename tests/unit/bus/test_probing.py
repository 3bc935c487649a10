"""Whom the question for versions does not wait for."""

import asyncio

import pytest

from daskdl.cluster.bus import probing
from daskdl.cluster.bus.probing import LONG_SILENCE_S, probe_each
from daskdl.cluster.silent_workers import Heartbeat
from tests.unit.cluster.inline_client import InlineClient


class Client(InlineClient):
    """One whose scheduler heard of its two workers a while ago."""

    def __init__(self, *silences_s):
        super().__init__()
        self.asked = set()
        # What each look finds; the last one from then on.
        self._silences_s = list(silences_s)

    async def run_on_scheduler(self, function):
        silence_s, *later = self._silences_s
        self._silences_s = later or [silence_s]
        return {"a": Heartbeat(0.1, "running"), "b": Heartbeat(silence_s, "running")}

    async def run(self, function, *args, workers, on_error):
        self.asked.update(workers)
        return await super().run(function, *args, workers=workers, on_error=on_error)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(probing, "LOOK_EVERY_S", 0.0)


def test_one_that_was_silent_for_long_is_not_asked():
    client = Client(LONG_SILENCE_S + 1)
    probed = asyncio.run(probe_each(client, ["a", "b"], 60.0))
    assert (probed.able, probed.silent, client.asked) == ({"a"}, {"b"}, {"a"})


@pytest.mark.parametrize(
    "silences_s", [(LONG_SILENCE_S - 1,), (LONG_SILENCE_S + 1, 0.1)]
)
def test_one_that_was_heard_of_is_asked(silences_s):
    """Also where the scheduler itself was stopped, and has heard of nobody since."""
    client = Client(*silences_s)
    probed = asyncio.run(probe_each(client, ["a", "b"], 60.0))
    assert (probed.able, probed.silent) == ({"a", "b"}, frozenset())
