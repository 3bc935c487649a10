"""Mailboxes of members, and the plugin that keeps them on a worker."""

import pytest

from daskdl.cluster.mailbox import Mailbox, SessionPlugin
from daskdl.cluster.orders import EndEpoch, Stop
from daskdl.errors import BusClosedError, StepTimeoutError


def test_a_stop_overtakes_the_orders_before_it():
    mailbox = Mailbox()
    mailbox.put(EndEpoch())
    mailbox.put(Stop(reason="enough"))
    with pytest.raises(BusClosedError, match="Session: stopped, enough"):
        mailbox.get(1.0)


def test_a_client_that_gives_no_order_is_asked_after():
    with pytest.raises(StepTimeoutError, match=r"give an order within 0\.01 s"):
        Mailbox().get(0.01)


@pytest.fixture
def plugin():
    made = SessionPlugin()
    made.setup(None)
    return made


def test_orders_for_a_session_that_is_over_are_dropped(plugin):
    with plugin.open("s", 0):
        pass
    assert not plugin.deliver("s", 0, EndEpoch())
    assert plugin._mailboxes == {}


def test_a_session_that_was_stopped_before_its_task_began_does_not_begin(plugin):
    plugin.deliver("s", 0, Stop(reason="interrupted"))
    with (
        plugin.open("s", 0) as mailbox,
        pytest.raises(BusClosedError, match="interrupt"),
    ):
        mailbox.check_stop()


def test_a_stop_is_for_its_own_session(plugin):
    plugin.deliver("s", 0, Stop(reason="interrupted"))
    with plugin.open("other", 0) as mailbox:
        mailbox.put(EndEpoch())
        assert mailbox.get(1.0) == EndEpoch()


def test_a_client_that_is_gone_stops_all_members_of_its_session(plugin):
    with plugin.open("s", 0) as begun, plugin.open("other", 0) as other:
        plugin.end("s")
        with pytest.raises(BusClosedError, match="the client is gone"):
            begun.check_stop()
        with pytest.raises(BusClosedError, match="the client is gone"):
            plugin.mailbox("s", 1).check_stop()
        other.check_stop()


def test_a_stop_is_for_its_own_member(plugin):
    plugin.deliver("s", 0, Stop(reason="it was given up"))
    plugin.mailbox("s", 1).check_stop()


def test_who_waits_for_orders_looks_meanwhile(monkeypatch):
    def look():
        raise BusClosedError("closed")

    monkeypatch.setattr("daskdl.cluster.mailbox.LOOK_EVERY_S", 0.01)
    with pytest.raises(BusClosedError, match="closed"):
        Mailbox().get(60.0, look)


def test_a_worker_that_closes_stops_its_sessions(plugin):
    with plugin.open("s", 0) as mailbox:
        plugin.teardown(None)
        with pytest.raises(BusClosedError, match="the worker is closing"):
            mailbox.check_stop()
