"""The members of a session and their mailboxes, against fakes that answer as Dask."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest
from distributed import CancelledError
from distributed.comm import CommClosedError

from daskdl.cluster.bus.scheduler_plugin import evict, newcomers
from daskdl.cluster.full_memory import ended_by_nannies
from daskdl.cluster.kept_network import NobodyLeftError
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.member_tasks import only_on
from daskdl.cluster.orders import EndEpoch, MemberGone, Stop, TrainPhase
from daskdl.cluster.placement import release_late
from daskdl.cluster.probation import try_out
from daskdl.cluster.reports import MemberReport, WorkerGone
from daskdl.cluster.session import member_state, run_member, snapshot
from daskdl.cluster.session_members import SessionMembers
from daskdl.cluster.silent_workers import LOOKS, Heartbeat
from daskdl.data.plan import plan_minibatches
from daskdl.errors import (
    ClusterError,
    DataError,
    OptionError,
    StepTimeoutError,
    WorkerLostError,
)
from daskdl.training.state import NetworkState

STATE = NetworkState(
    configuration={},
    params=np.zeros(3, np.float32),
    updater_state=np.zeros(0, np.float32),
    iteration_count=0,
    epoch_count=0,
    score=0.0,
)


class FakeFuture:
    """A member's task that the test ends."""

    key = "member"

    def __init__(self, status="pending"):
        self.status = status
        self.outcome = None

    def add_done_callback(self, callback):
        self.callback = callback

    def finish(self, outcome):
        self.status, self.outcome = "finished", outcome

    def exception(self, timeout):
        return self.outcome

    def result(self, timeout):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


NETWORK = FakeFuture()
NETWORK.key = "network"


class FakeClient:
    """Workers are names; a call is answered by what the test put into `answers`."""

    cluster = None  # it is somebody else's

    def __init__(self, *workers, asynchronous=False):
        self.asynchronous = asynchronous
        self.status = "running"
        self.workers = list(workers)
        self.scheduler = SimpleNamespace(address="tcp://scheduler")
        self.futures = []
        self.delivered = []
        self.answers = {}
        self.cancelled = []
        self.resources = {}
        self.trials = {}
        self.networks = {}
        self.states = {}
        self.silence_s = {}
        self.paused = set()
        self.evicted = []
        self.ended = []
        self.unprepared = {}
        self.is_over = False  # the tasks of members
        self.holder = None  # of the network, if there is but one
        self._in_loop = False

    def scheduler_info(self, n_workers):
        assert n_workers == -1, "not all of them"
        return {
            "workers": {
                address: {
                    "resources": self.resources.get(address, {}),
                    "memory_limit": 0,
                }
                for address in self.workers
            }
        }

    def nthreads(self):
        there = dict.fromkeys(self.workers, 1)
        if not self._in_loop:
            return there

        async def answer():
            return there

        return answer()

    def sync(self, function, *args, **options):
        self._in_loop = True
        try:
            return asyncio.run(function(*args, **options))
        finally:
            self._in_loop = False

    async def run(self, function, session, rank, order=None, *, workers, on_error):
        (address,) = workers
        answer = self.answers.get(address)
        if answer == "never":
            await asyncio.sleep(3600)
        if isinstance(answer, Exception):
            return {address: answer}
        if function is snapshot:
            return {address: self.networks.get(address)}
        if function is member_state:
            return {address: self.states[address]}
        self.delivered.append((address, order))
        return {address: not self.is_over}

    id = "client"

    def run_on_scheduler(self, function, *args, wait=True):
        if function is release_late:
            self.released = args
        if function is evict:
            self.evicted.append(args[1])
        if function is ended_by_nannies:
            return dict.fromkeys(self.ended, 900 << 20)
        if function is only_on:
            return (args[0], args[1]) == ([NETWORK.key], self.holder)
        if function is newcomers:
            return {**dict.fromkeys(self.workers), **self.unprepared}
        return {
            address: Heartbeat(
                self.silence_s.get(address, 0.0),
                "paused" if address in self.paused else "running",
            )
            for address in self.workers
        }

    def submit(self, function, *args, workers=(), **options):
        if function is try_out:
            return self.trials.setdefault(workers[0], FakeFuture("finished"))
        if function is int:
            return FakeFuture()
        if function is not run_member:
            self.made_on = workers
            return NETWORK
        self.needed = options["resources"]
        self.futures.append(FakeFuture())
        return self.futures[-1]

    def cancel(self, futures):
        self.cancelled += futures


def members_on(client, workers=None, resources=None):
    source = SimpleNamespace(partitions=("p0", "p1", "p2"), in_memory=True)
    data = SimpleNamespace(source=source, normalizer=None, fits=lambda *room: True)
    members = SessionMembers(client, SharedTrainingMaster(), data, workers, resources)
    members._installed = frozenset(client.workers)
    return members


@pytest.fixture
def client():
    return FakeClient("a", "b", "c")


@pytest.fixture
def members(client):
    started = members_on(client)
    started.start(STATE)
    return started


def test_a_worker_that_did_not_start_is_not_asked_again(members, client):
    for rank in (0, 1):
        members.ready(rank, "here")
    members.dismiss_late()
    assert (sorted(members.addresses.values()), members.newcomers()) == (["a", "b"], [])


def test_hosts_are_those_of_members_that_have_started(members):
    members.ready(0, "here")
    members.ready(2, "there")
    members.lose(members.addresses[0])
    assert members.hosts == {2: "there"}


def test_an_asynchronous_client_is_refused():
    with pytest.raises(OptionError, match="client must be synchronous"):
        members_on(FakeClient("a", asynchronous=True))


def test_workers_that_the_cluster_has_not_are_refused(client):
    with pytest.raises(OptionError, match=r"must be workers of the cluster, got \["):
        members_on(client, ["elsewhere"]).start(STATE)


def test_more_workers_than_there_are_are_refused(client):
    with pytest.raises(OptionError, match="must be workers of the cluster, got 9; it"):
        members_on(client, 9).start(STATE)


def test_only_workers_that_offer_the_resources_take_part(client):
    client.resources = {"a": {"GPU": 1.0}, "b": {"GPU": 0.5}, "c": {"GPU": 2.0}}
    members = members_on(client, resources={"GPU": 1})
    members.start(STATE)
    assert sorted(members.addresses.values()) == ["a", "c"]
    assert client.needed == {"GPU": 1}


def test_a_task_needs_no_resources_unless_asked_for(members, client):
    assert client.needed is None


@pytest.mark.parametrize(
    ("paused", "made_on"),
    [({"a"}, ["b", "c"]), ({"a", "b", "c"}, ["d"])],
    ids=["one", "all"],
)
def test_who_is_paused_makes_no_network_for_newcomers(members, client, paused, made_on):
    """It would begin when it has memory again, and the newcomer waits as long."""
    client.workers.append("d")
    client.paused = paused
    client.networks = {"a": STATE}
    members.newcomers()
    members.snapshot()
    members.start(STATE)
    assert "d" in members.addresses.values()
    assert list(client.made_on) == made_on


def test_resources_that_nobody_offers_are_refused(client):
    with pytest.raises(OptionError, match=r"1 workers must offer {'GPU': 1}, got 0 of"):
        members_on(client, resources={"GPU": 1}).start(STATE)


def test_resources_are_amounts(client):
    with pytest.raises(OptionError, match=r"resources\['GPU'\] must be > 0, got 0"):
        members_on(client, resources={"GPU": 0})


def test_as_many_workers_start_as_were_asked_for(client):
    members = members_on(client, 2)
    members.start(STATE)
    assert sorted(members.addresses.values()) == ["a", "b"]


def test_a_newcomer_takes_the_place_of_a_lost_worker(client):
    members = members_on(client, 2)
    members.start(STATE)
    client.workers.remove("a")
    members.lose("a")
    assert members.newcomers() == ["c"]


def test_ranks_are_never_used_twice(members, client):
    members.lose("c")
    members.start(STATE)
    assert sorted(members.addresses) == [0, 1, 3]


def test_who_waits_for_a_network_of_a_lost_member_starts_again(members, client):
    members.ready(0, "here")
    client.holder = "b"
    members.lose("b")
    assert members.addresses == {0: "a", 3: "c"}
    assert client.futures[2] in client.cancelled
    assert client.made_on == ["a"]
    assert members.next_event() is None


def test_who_waits_for_a_network_that_others_have_goes_on_waiting(members, client):
    members.lose("b")
    assert members.addresses == {0: "a", 2: "c"}


def test_a_network_of_a_worker_that_is_dismissed_is_made_elsewhere(members, client):
    client.holder = "b"
    members.dismiss(["b"], "it is paused")
    assert members.addresses == {3: "a", 4: "c"}
    assert client.made_on == ["a", "c"]


def test_a_lost_member_is_told_to_the_others(members, client):
    members.lose("b")
    assert client.delivered == [
        ("a", MemberGone(rank=1)),
        ("c", MemberGone(rank=1)),
    ]


def test_the_task_of_a_lost_member_is_cancelled(members, client):
    members.lose("b")
    assert client.cancelled == [client.futures[1]]


def test_the_network_that_only_lost_members_came_from_is_released(members, client):
    """Else a fit in which many come and go keeps one for each of them."""
    for address in "abc":
        assert NETWORK not in client.cancelled
        members.lose(address)
    assert client.cancelled == [*client.futures, NETWORK]


def test_the_address_of_a_lost_member_stays_known(members):
    members.lose("b")
    assert members.address_of(1) == "b"


def test_it_is_known_whose_nanny_ended_a_lost_member(members, client):
    client.ended = ["b"]
    members.lose("b")
    assert "Dask ended it" in members.memory.reason("b")


def test_a_stranger_is_not_lost(members):
    assert members.lose("elsewhere") is None


def test_each_member_gets_each_partition_once(members):
    first, second = plan_minibatches([4, 4], 4)
    members.to_send(0, [first])
    assert members.to_send(0, [first, second]) == ((first, second), {1: "p1"})


def test_an_order_that_a_worker_cannot_take_ends_the_fit(members, client):
    """For instance when it cannot unpickle a partition."""
    client.answers["b"] = ModuleNotFoundError("No module named 'mine'")
    with pytest.raises(ClusterError, match="b must take its order, it failed with Mod"):
        members.order_all(EndEpoch())


def test_a_connection_that_breaks_is_no_failure(members, client):
    client.answers["b"] = CommClosedError("gone")
    members.order_all(EndEpoch())
    assert [address for address, _ in client.delivered] == ["a", "c"]


def test_a_worker_that_takes_no_order_counts_as_gone(members, client, caplog):
    """It may wake up again, but nobody waits for it or asks it any more."""
    members._liveness.limit_s = 0.01
    client.answers["c"] = "never"
    members.order_all(EndEpoch())
    assert members.next_event() == WorkerGone("c")
    assert client.evicted == ["c"]
    assert "c must take an order in 0.01 s, it did not" in caplog.text


def test_a_member_without_heartbeats_counts_as_gone(members, client, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.session_members.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("daskdl.cluster.reports.WAIT_S", 0.01)
    client.silence_s = {"a": 1.0, "b": 61.0}
    events = [members.next_event() for _ in range(LOOKS + 1)]
    assert events == [None] * (LOOKS - 1) + [WorkerGone("b"), None]


def test_a_worker_that_went_is_told_behind_what_it_reported(
    members, client, monkeypatch
):
    """Who is told of its end first deals out again what it has trained."""
    monkeypatch.setattr("daskdl.cluster.session_members.LOOK_EVERY_S", 0.0)
    progress = MemberReport(1, "progress", {})
    members._reports._on_report((0.0, {"rank": 1, "what": "progress"}))
    client.workers.remove("b")
    assert [members.next_event() for _ in range(2)] == [progress, WorkerGone("b")]


def test_a_worker_that_did_not_answer_when_the_fit_began_is_left_out(client):
    members = members_on(client)
    members._installed = frozenset("ac")
    members.start(STATE)
    assert sorted(members.addresses.values()) == ["a", "c"]


def test_workers_that_are_needed_and_do_not_answer_are_named(client):
    members = members_on(client, 3)
    members._installed = frozenset("ac")
    with pytest.raises(
        StepTimeoutError, match="workers 'b' must answer before the fit"
    ):
        members.start(STATE)


def test_a_paused_worker_is_told_and_joins_when_it_goes_on(client, caplog):
    client.paused = {"b"}
    members = members_on(client)
    members.start(STATE)
    assert sorted(members.addresses.values()) == ["a", "c"]
    assert "b must begin its task, it is paused: its memory is nearly" in caplog.text
    event = members.next_event()
    assert (event.address, event.reason[:12]) == ("b", "it is paused")
    client.paused = set()
    members._look()
    assert members.newcomers() == ["b"]


@pytest.mark.parametrize("wanted", [None, 2])
def test_workers_that_are_needed_and_paused_are_named(client, wanted):
    client.paused = {"a", "b", "c"}
    with pytest.raises(ClusterError, match=r"must begin their task.*a is paused: its"):
        members_on(client, wanted).start(STATE)


def test_a_member_that_is_paused_before_its_task_begins_is_not_waited_for(
    members, client
):
    members._long_paused.limit_s = -1.0
    client.paused = {"a", "b"}
    members.ready(0, "here")
    members._look()
    assert sorted(members.addresses.values()) == ["a", "c"]
    event = members.next_event()
    assert (event.address, event.reason[:12]) == ("b", "it is paused")


def test_without_another_member_the_paused_one_is_kept(client):
    members = members_on(client, 1)
    members.start(STATE)
    members._long_paused.limit_s = -1.0
    client.paused = {"a"}
    members._look()
    assert list(members.addresses.values()) == ["a"]


def test_a_cluster_without_workers_is_told(client):
    client.workers.clear()
    with pytest.raises(WorkerLostError, match="at least one worker must be there"):
        members_on(client).start(STATE)


def test_a_newcomer_that_cannot_take_part_does_not_join(members, client, caplog):
    client.workers.append("d")
    client.trials["d"] = FakeFuture("error")
    client.trials["d"].outcome = ImportError("no cupy")
    assert members.newcomers() == members.newcomers() == []
    assert (
        "newcomer d must show that it can take part, it failed with Imp" in caplog.text
    )


def test_a_newcomer_on_trial_holds_nobody_up_for_long(members, client, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.probation.PATIENCE_S", 0.01)
    client.workers.append("d")
    client.trials["d"] = FakeFuture()
    assert members.newcomers() == []
    client.trials["d"].finish(None)
    assert members.newcomers() == ["d"]


def test_a_newcomer_that_goes_is_forgotten(members, client, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.probation.PATIENCE_S", 0.01)
    client.workers.append("d")
    client.trials["d"] = FakeFuture()
    members.newcomers()
    client.workers.remove("d")
    assert members.newcomers() == []
    assert client.cancelled == [client.trials["d"]]


def test_nothing_is_sent_to_a_newcomer_without_daskdl(members, client):
    """A task that it cannot load would end it; it is named instead."""
    client.workers.append("d")
    client.unprepared["d"] = "ModuleNotFoundError: No module named 'daskdl'"
    assert members.newcomers() == []
    assert client.trials == {}
    event = members.next_event()
    assert event.address == "d"
    assert "No module named 'daskdl'" in event.reason


def test_a_snapshot_comes_from_whoever_answers(members, client, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.member_calls.ASK_ANOTHER_AFTER_S", 0.01)
    client.answers.update(a="never", b=CommClosedError("gone"))
    client.networks["c"] = STATE
    assert members.snapshot() is STATE


def test_a_snapshot_is_not_of_a_member_that_had_nothing_to_train(members, client):
    for rank, minibatches in enumerate([1, 8, 9]):
        members.trained(rank, minibatches)
    client.networks.update(a="untrained", b="trained", c="trained")
    client.silence_s.update(b=0.1, c=0.1)
    assert members.snapshot() == "trained"


def test_a_snapshot_of_members_that_are_all_gone_says_so(members, client):
    client.workers.clear()
    with pytest.raises(NobodyLeftError, match="must return its parameters, none did"):
        members.snapshot()


@pytest.mark.parametrize(
    ("silence_s", "kind"), [(1.0, StepTimeoutError), (30.0, NobodyLeftError)]
)
def test_a_snapshot_of_members_that_are_all_stopped_is_of_none(
    members, client, silence_s, kind
):
    client.answers = dict.fromkeys("abc", CommClosedError("no answer"))
    client.silence_s = dict.fromkeys("abc", silence_s)
    with pytest.raises(kind, match="must return its parameters, none did"):
        members.snapshot()


def test_a_member_that_was_given_up_joins_again_when_its_task_has_ended(
    members, client, monkeypatch
):
    monkeypatch.setattr("daskdl.cluster.session_members.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("daskdl.cluster.reports.WAIT_S", 0.01)
    client.silence_s = {"b": 61.0}
    while members.next_event() != WorkerGone("b"):
        pass
    members.lose("b")
    assert members.newcomers() == []
    client.silence_s = {}
    client.is_over = True
    members.next_event()
    assert ("b", Stop(reason="it was given up")) in client.delivered
    assert members.newcomers() == ["b"]


def test_a_member_that_was_given_up_gets_no_further_order(members, client):
    members._give_up("b", "take an order, it did not")
    members.order_all(EndEpoch())
    assert [address for address, _ in client.delivered] == ["a", "c"]


def test_a_member_that_was_given_up_stays_out_while_its_task_runs(
    members, client, monkeypatch
):
    monkeypatch.setattr("daskdl.cluster.session_members.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("daskdl.cluster.reports.WAIT_S", 0.01)
    members._give_up("b", "do something, it did not")
    members.lose("b")
    members.next_event()
    assert members.newcomers() == []


def test_members_that_do_not_hear_each_other_cost_the_later_one(
    members, client, monkeypatch, caplog
):
    monkeypatch.setattr("daskdl.cluster.session_members.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("daskdl.cluster.reports.WAIT_S", 0.01)
    monkeypatch.setattr("daskdl.cluster.complaints.LEAST_AGE_S", 0.0)
    members._liveness._complaints._patience_s = 0.0
    for rank in range(3):
        members.ready(rank, "here")
    complaint = MemberReport(0, "complaint", {"silent": [1], "stage": [0, 1]})
    members._reports._queue.put(complaint)
    assert members.next_event() is complaint
    assert members.next_event() == WorkerGone("b")
    assert "a has heard nothing from 'b' for 120 s" in caplog.text


def test_those_that_come_as_all_go_before_the_start_are_waited_for(client, monkeypatch):
    """They have no plugins yet, and did not fail to answer."""
    monkeypatch.setattr("daskdl.cluster.replacements.LOOK_AGAIN_S", 0.0)
    members = members_on(client, workers=2)
    members._installed = frozenset("abc")
    client.workers[:] = ["d", "e"]
    client.unprepared = {"d": "not yet", "e": "not yet"}
    with pytest.raises(NobodyLeftError):
        members.start(STATE)
    client.unprepared = {}
    assert members.start_again(STATE, 60.0)
    assert members.addresses == {0: "d", 1: "e"}


def test_others_take_the_place_of_all(members, client, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.replacements.LOOK_AGAIN_S", 0.0)
    for address in "abc":
        members.lose(address)
    client.workers[:] = ["d", "e", "f"]
    assert members.start_again(STATE, 60.0)
    assert members.addresses == {3: "d", 4: "e", 5: "f"}


def test_nobody_takes_the_place_of_all(members, client, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.replacements.LOOK_AGAIN_S", 0.0)
    for address in "abc":
        members.lose(address)
    client.workers.clear()
    assert not members.start_again(STATE, 0.01)


def test_nobody_waits_for_a_worker_that_went_meanwhile(members, client):
    client.answers["c"] = "never"
    client.workers.remove("c")
    members.order_all(EndEpoch())
    assert [address for address, _ in client.delivered] == ["a", "b"]


def test_a_scheduler_that_is_gone_is_named(members, client, monkeypatch):
    def broken(function, *args, **options):
        client.status = "connecting"
        raise CommClosedError("gone")

    monkeypatch.setattr(client, "sync", broken)
    with pytest.raises(ClusterError, match="the scheduler must stay reachable"):
        members.order_all(EndEpoch())


@pytest.mark.parametrize(
    "error", [RuntimeError("ConnectionPool is closed"), CommClosedError("gone")]
)
def test_a_client_that_is_closed_does_not_hide_why_the_fit_ended(
    members, client, monkeypatch, error
):
    def broken(*args, **options):
        raise error

    monkeypatch.setattr(client, "sync", broken)
    monkeypatch.setattr(client, "unsubscribe_topic", broken, raising=False)
    cause = DataError("why")
    assert members.__exit__(DataError, cause, None) is None


def test_a_fit_that_fails_stops_its_members(members, client, monkeypatch):
    monkeypatch.setattr(client, "unsubscribe_topic", lambda topic: None, raising=False)
    members.__exit__(DataError, DataError("why"), None)
    assert client.delivered[0] == ("a", Stop(reason="DataError: why"))
    # The scheduler may not have known what was cancelled.
    assert client.released == (["member", "member", "member", "network"], "client")


def test_leaving_cancels_every_task(members, client, monkeypatch):
    monkeypatch.setattr(client, "unsubscribe_topic", lambda topic: None, raising=False)
    members.__exit__(None, None, None)
    assert client.cancelled == [*client.futures, NETWORK]


def test_there_is_no_result_before_a_member_returned_it(members):
    assert members.result() is None


@pytest.mark.parametrize("error", [asyncio.TimeoutError(), CancelledError("c")])
def test_a_result_that_went_with_its_worker_comes_from_another(members, client, error):
    client.futures[0].finish(error)
    client.futures[2].finish(STATE)
    assert members.result() is STATE


def test_a_member_that_does_not_say_what_it_has_is_given_up(
    members, client, monkeypatch
):
    monkeypatch.setattr(members._liveness, "limit_s", 0.01)
    client.answers.update(a="never", b=AttributeError("its task failed"))
    client.states["c"] = {"residual": 3}
    assert members.states() == [{}, {}, {"residual": 3}]
    assert members.next_event() == WorkerGone("a")


def test_the_result_is_not_of_a_member_that_had_nothing_to_train(members, client):
    members.trained(2, 5)
    client.futures[0].finish("untrained")
    assert members.result() is None
    client.futures[2].finish(STATE)
    assert members.result() is STATE


def test_the_result_of_a_worker_that_went_is_not_asked_for(members, client):
    client.futures[0].finish(AssertionError("asked"))
    client.workers.remove("a")
    assert members.result() is None


def test_a_phase_gives_no_partitions_unless_told():
    phase = TrainPhase(phase=0, epoch=0, members=frozenset(), minibatches=())
    assert phase.partitions == {}
