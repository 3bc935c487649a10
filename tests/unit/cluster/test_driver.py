"""The driver against members whose events are written down, and its refusals."""

from collections import Counter, deque
from dataclasses import asdict

import numpy as np
import pytest
from distributed import KilledWorker

from daskdl.cluster import driver as driver_module
from daskdl.cluster.driver import Driver
from daskdl.cluster.full_memory import FullMemory
from daskdl.cluster.kept_network import (
    MOST_FULL_RETURNS,
    MOST_RETURNS,
    MOST_VAIN_RETURNS,
)
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.member_states import MemberStates
from daskdl.cluster.orders import EndEpoch, Finish, Restore
from daskdl.cluster.reports import MemberFailed, MemberReport, WorkerGone
from daskdl.data.room import LEAST_ROOM
from daskdl.errors import (
    BusClosedError,
    ClusterError,
    DataError,
    OptionError,
    OutputError,
    StepTimeoutError,
    StorageError,
    WorkerLostError,
)
from daskdl.nn.fitting.events import EpochFinished, FitFinished, FitStarted
from daskdl.nn.fitting.run_state import RunPosition
from daskdl.training.state import state_of
from tests.listening import Epochs, Events
from tests.unit.cluster.simulation_cluster import numbered_data
from tests.unit.cluster.tally_network import TallyNetwork


class ScriptedMembers:
    """Members that obey at once, unless the test says what happens instead."""

    def __init__(self, client, master, data, workers, resources):
        self.addresses = {0: "a", 1: "b"}
        self.events = deque()
        self.orders = []
        self.not_ready = []
        self.hosts = {}
        self.paused = {}
        self.late = []
        self.have_newcomers = False
        self.silent = False
        self.network = client
        self.room = LEAST_ROOM
        self.memory = FullMemory()
        self.counts = Counter()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def start(self, state, *, patient=True):
        self.orders.append("start")

    def ready(self, rank, host):
        self.not_ready.clear()
        self.hosts[rank] = host

    def newcomers(self, *, patient=True):
        return self.late

    def dismiss_late(self):
        self.orders.append("dismiss")
        self.not_ready.clear()

    def dismiss(self, addresses, reason):
        self.orders.append("dismiss")
        for address in addresses:
            self.not_ready.remove(address)
            self.lose(address)

    def next_event(self):
        return self.events.popleft() if self.events else None

    def are_all_waiting(self):
        return False

    def start_again(self, state, timeout_s):
        self.orders.append("start again")
        return False

    def address_of(self, rank):
        return "ab"[rank]

    def homes(self):
        return None

    def to_send(self, rank, share):
        return tuple(share), {}

    def lose(self, address):
        for rank, member in self.addresses.items():
            if member == address:
                del self.addresses[rank]
                return rank
        return None

    def order_all(self, order):
        self.orders.append(order)
        if isinstance(order, Finish) and not self.silent:
            for rank in self.addresses:
                returned = MemberReport(
                    rank, "returned", {"bytes_sent": 3, "staleness": {}}
                )
                self.events.append(returned)

    def order(self, orders):
        self.orders.append(orders)
        for rank, order in orders.items():
            if not (self.silent or isinstance(order, Restore)):
                self.finish(rank, order)

    def finish(self, rank, order):
        at = {str(peer): 0 for peer in order.members - {rank}}
        values = {
            "phase": order.phase,
            "trained": self.trains(order),
            "positions": at,
            "peak_bytes": 7,
            "loads": 2,
        }
        self.events.append(MemberReport(rank, "finished", values))

    def trains(self, order):
        return len(order.minibatches)

    def trained(self, rank, minibatches):
        self.counts[rank] += minibatches

    def states(self):
        self.orders.append("states")
        return [{"residual": np.zeros(2)} for _ in self.addresses]

    def stop_at(self, phase, positions):
        return {}

    def snapshot(self):
        return state_of(self.network)

    def result(self):
        return None if self.silent else state_of(self.network)


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.setattr(driver_module, "SessionMembers", ScriptedMembers)
    network = TallyNetwork(16, 1)
    master = SharedTrainingMaster(peer_timeout_s=0.01, start_timeout_s=0.01)
    return Driver(network, network, master, numbered_data([16], 4, in_memory=True))


def events_of(driver):
    told = []
    driver._fit._listeners = [Events(told.append)]
    return told


def test_a_fit_trains_ends_the_epoch_and_finishes(driver):
    driver.fit(1, shuffle=False)
    kinds = [type(order) for order in driver._members.orders]
    assert kinds == [str, dict, EndEpoch, str, Finish]


def test_what_members_alone_have_is_asked_for_before_they_return(driver):
    driver.fit(2, shuffle=False)
    assert driver._members.orders[-2:][0] == "states"
    assert [one["residual"].size for one in driver.states.bring()] == [2, 2]


def test_what_members_had_before_is_given_back_before_they_train(driver):
    driver.states = MemberStates(driver._members, [{"residual": 1}, {"residual": 2}])
    driver.fit(1, shuffle=False)
    restored = driver._members.orders[1]
    assert {rank: order.state["residual"] for rank, order in restored.items()} == {
        0: 1,
        1: 2,
    }


def test_what_each_member_trained_is_counted(driver):
    driver.fit(2, shuffle=False)
    assert driver._members.counts == {0: 4, 1: 4}


def test_residuals_are_told_with_their_worker(driver):
    measured = {"iteration": 1, "length": 4, "threshold": 0.5, "reached": 1}
    measured |= {"sparsity": 0.25, "mean": 0.2, "largest": 0.7}
    measured["percentiles"] = {"50": 0.1}
    driver._members.events.append(
        MemberReport(1, "residuals", {"measured": [measured, measured]})
    )
    report = driver.fit(1, shuffle=False)
    assert [event.worker for event in report.residuals] == ["b", "b"]
    assert asdict(report.residuals[0]).items() >= measured.items()


def test_a_fit_tells_its_start_its_epochs_and_its_end(driver):
    told = events_of(driver)
    driver.fit(2, shuffle=False)
    kinds = [type(event) for event in told]
    assert kinds == [FitStarted, EpochFinished, EpochFinished, FitFinished]


def test_every_minibatch_is_dealt_once(driver):
    driver.fit(1, shuffle=False)
    dealt = [m.index for o in driver._members.orders[1].values() for m in o.minibatches]
    assert sorted(dealt) == [0, 1, 2, 3]


def test_what_a_lost_worker_left_is_a_further_phase(driver):
    members = driver._members
    members.events.append(WorkerGone("b"))
    driver.fit(1, shuffle=False)
    phases = [o for o in members.orders if isinstance(o, dict)]
    assert [sorted(o.minibatches[0].index for o in p.values()) for p in phases] == [
        [0, 1],
        [1],
    ]


def test_phases_are_never_used_twice(driver):
    driver.fit(3, shuffle=False)
    phases = [o for o in driver._members.orders if isinstance(o, dict)]
    numbers = [order.phase for phase in phases for order in phase.values()]
    assert numbers == [0, 0, 1, 1, 2, 2]


def test_the_peak_memory_of_a_worker_is_reported(driver):
    assert driver.fit(1, shuffle=False).peak_worker_bytes == 7


def test_a_newcomer_that_does_not_start_is_left_out(driver):
    driver._master = SharedTrainingMaster(start_timeout_s=0.01)
    driver._members.late = ["c"]
    driver._members.not_ready = ["c"]
    driver._let_join(1)
    assert driver._members.orders == ["start", "dismiss"]


def test_a_newcomer_that_fails_to_start_is_left_out(driver, caplog):
    driver._epoch = 1
    driver._members.addresses[2] = "c"
    driver._members.not_ready = ["c"]
    driver._members.events.append(MemberFailed(2, MemoryError("no more")))
    driver._await_ready()
    assert driver._members.orders == ["dismiss"]
    assert "newcomer c must start, it failed with MemoryError" in caplog.text


def test_a_newcomer_that_goes_before_it_started_is_no_loss(driver):
    driver._epoch = 1
    driver._members.addresses[2] = "c"
    driver._members.not_ready = ["c"]
    driver._lose("c", None)
    assert driver.report.lost == []


@pytest.mark.parametrize(
    "error", [BusClosedError("closing"), KilledWorker("t", None, 0)]
)
def test_a_member_whose_worker_is_closing_is_lost(driver, error):
    """Its task ends with an error before the scheduler says that the worker went."""
    driver._members.events.append(MemberFailed(1, error))
    driver.fit(1, shuffle=False)
    assert [lost.worker for lost in driver.report.lost] == ["b"]


def test_a_newcomer_starts_with_the_number_of_the_epoch(driver, monkeypatch):
    """Whoever gives the snapshot may not have counted the epoch yet."""
    started = []
    driver._members.late = ["c"]
    driver._members.start = lambda state, patient=True: started.append(state)
    driver.fit(2, shuffle=False)
    assert [state.epoch_count for state in started] == [0, 1]


def test_nobody_joins_unless_the_master_is_elastic(driver):
    driver._master = SharedTrainingMaster(elastic=False)
    driver._members.late = ["c"]
    driver.fit(2, shuffle=False)
    assert driver._members.orders.count("start") == 1


def test_a_worker_that_goes_before_its_member_started_is_not_waited_for(driver):
    members = driver._members
    members.not_ready = ["b"]
    members.events += [WorkerGone("b"), MemberReport(0, "ready", {"host": "here"})]
    driver.fit(1, shuffle=False)
    assert driver.report.workers == ("a",)


def test_a_worker_that_goes_between_phases_is_told(driver):
    def lose_one(network):
        driver._members.events.append(WorkerGone("b"))

    driver._fit._listeners = [Epochs(lose_one)]
    driver._members.result = iter([None, None, state_of(driver._network)]).__next__
    driver.fit(1, shuffle=False)
    assert [(lost.worker, lost.epoch) for lost in driver.report.lost] == [("b", 1)]


@pytest.mark.parametrize("kind", [OutputError, StorageError])
def test_a_checkpoint_that_cannot_be_written_never_ends_a_fit(driver, caplog, kind):
    calls = []

    def save(network):
        calls.append(network)
        if len(calls) == 1:
            raise kind("hdfs://x/checkpoint: no answer.")

    driver._fit._listeners = [Epochs(save)]
    report = driver.fit(2, shuffle=False)
    assert len(calls) == 2
    assert [(e.epoch, e.reason) for e in report.failed_checkpoints] == [
        (1, "hdfs://x/checkpoint: no answer.")
    ]
    assert caplog.messages == [
        "epoch 1: no checkpoint, the training goes on: hdfs://x/checkpoint: no answer."
    ]


@pytest.mark.parametrize("error", [OSError("x"), OptionError("x")])
def test_any_other_error_of_on_epoch_ends_the_fit(driver, error):
    def fail(network):
        raise error

    driver._fit._listeners = [Epochs(fail)]
    with pytest.raises(type(error)):
        driver.fit(1, shuffle=False)


def test_members_that_do_not_start_are_named(driver):
    driver._members.not_ready = ["b"]
    with pytest.raises(StepTimeoutError, match=r"workers \['b'\] must start within"):
        driver.fit(1, shuffle=False)


def test_a_start_that_waits_for_memory_says_so(driver):
    driver._members.not_ready = ["b"]
    driver._members.paused = {"b": "is paused: its memory is nearly full"}
    with pytest.raises(StepTimeoutError, match=r"they did not\. 'b is paused: its mem"):
        driver.fit(1, shuffle=False)


def test_silence_of_all_members_ends_the_fit(driver):
    driver._members.silent = True
    with pytest.raises(
        StepTimeoutError, match=r"\['a', 'b'\] must report within 0\.02"
    ):
        driver.fit(1, shuffle=False)


def test_the_last_worker_that_goes_ends_the_fit(driver):
    driver._members.events += [WorkerGone("b"), WorkerGone("a")]
    with pytest.raises(WorkerLostError, match="got none after a went"):
        driver.fit(1, shuffle=False)


class Returning(ScriptedMembers):
    """All go in the second epoch, and others come, so often."""

    goes = 1

    def order(self, orders):
        (phase,) = {order.phase for order in orders.values()}
        if phase and self.goes:
            self.goes -= 1
            self.events += [WorkerGone(address) for address in self.addresses.values()]
        else:
            super().order(orders)

    def start_again(self, state, timeout_s):
        self.orders.append(("start again", state.epoch_count))
        first = 2 * sum(isinstance(order, tuple) for order in self.orders)
        self.addresses = {first: f"a{first}", first + 1: f"b{first}"}
        return True

    def address_of(self, rank):
        return f"{'ab'[rank % 2]}{rank // 2 * 2 or ''}"


@pytest.fixture
def returning(driver):
    driver._members.__class__ = Returning
    return driver


def test_when_all_went_others_go_on_from_the_end_of_an_epoch(returning):
    report = returning.fit(3, shuffle=False)
    assert ("start again", 1) in returning._members.orders
    assert [epoch.epoch for epoch in report.epochs] == [1, 2, 3]
    assert [lost.worker for lost in report.lost] == ["a", "b"]
    assert [(one.epoch, one.workers) for one in report.rejoined] == [(1, ("a2", "b2"))]


def report_first(members):
    """Have one member report a minibatch or two before all go."""
    real = members.order
    values = {"trained": 2, "is_idle": False, "may_move": False, "bytes_sent": 0}
    values |= {"score_sum": 1.0, "scores": 8}

    def order(orders):
        real(orders)
        if members.events and isinstance(members.events[0], WorkerGone):
            rank, given = min(orders.items())
            told = MemberReport(rank, "progress", {**values, "phase": given.phase})
            members.events.appendleft(told)

    members.order = order


def test_what_was_trained_in_vain_counts_as_repeated(returning):
    report_first(returning._members)
    report = returning.fit(3, shuffle=False)
    assert (report.repeated_examples, report.examples) == (8, 3 * 16 + 8)


def test_workers_that_go_again_and_again_end_the_fit(returning):
    returning._members.goes = 100
    with pytest.raises(WorkerLostError, match="at least one worker must be left"):
        returning.fit(3, shuffle=False)
    assert len(returning.report.rejoined) == MOST_RETURNS


def test_workers_that_go_with_their_memory_full_end_the_fit_sooner(returning):
    returning._members.goes = 100
    returning._members.memory.reason = lambda address: "its memory was nearly full"
    report_first(returning._members)
    told = "its memory was nearly full.* could not be kept between. A member holds at"
    with pytest.raises(WorkerLostError, match=told):
        returning.fit(3, shuffle=False)
    assert len(returning.report.rejoined) == MOST_FULL_RETURNS


def test_workers_whose_memory_is_full_before_they_train_end_it_at_once(returning):
    returning._members.goes = 100
    returning._members.memory.reason = lambda address: "its memory was nearly full"
    with pytest.raises(
        WorkerLostError, match=r"none had trained a minibatch\. A member holds at least"
    ):
        returning.fit(3, shuffle=False)
    assert len(returning.report.rejoined) == MOST_VAIN_RETURNS


def test_memory_that_is_full_while_members_start_is_known(returning):
    members = returning._members
    members.memory.reason = lambda address: "its memory was nearly full"
    begun = members.start_again

    def start_again(state, timeout_s):
        begun(state, timeout_s)
        members.not_ready = list(members.addresses.values())
        members.events.extend(map(WorkerGone, members.not_ready))
        return True

    members.start_again = start_again
    with pytest.raises(WorkerLostError, match="none had trained a minibatch"):
        returning.fit(3, shuffle=False)
    assert len(returning.report.rejoined) == MOST_VAIN_RETURNS


def test_memory_is_the_reason_if_it_was_that_of_another_worker(returning):
    returning._members.goes = 100
    memory = returning._members.memory
    memory.reason = lambda address: "was full" if address == "a" else ""
    with pytest.raises(WorkerLostError, match="went, a: was full"):
        returning.fit(3, shuffle=False)


def test_nobody_is_waited_for_where_that_is_not_wanted(returning):
    returning._master = SharedTrainingMaster(rejoin_timeout_s=0)
    with pytest.raises(WorkerLostError, match="at least one worker must be left"):
        returning.fit(3, shuffle=False)
    assert returning.report.rejoined == []


def test_an_error_of_ours_comes_out_as_it_is(driver):
    error = DataError("data.csv: must hold numbers, got 'x'.")
    driver._members.events.append(MemberFailed(1, error))
    with pytest.raises(DataError) as raised:
        driver.fit(1, shuffle=False)
    assert raised.value is error


def test_any_other_error_names_its_worker(driver):
    error = MemoryError("no more")
    driver._members.events.append(MemberFailed(1, error))
    with pytest.raises(
        ClusterError, match=r"on b must end in order, .*no more"
    ) as told:
        driver.fit(1, shuffle=False)
    assert told.value.__cause__ is error


def test_an_error_of_a_lost_member_is_no_failure(driver):
    gone = MemberFailed(1, ClusterError("its worker is closing"))
    driver._members.events += [WorkerGone("b"), gone]
    driver.fit(1, shuffle=False)
    assert [lost.worker for lost in driver.report.lost] == ["b"]


def test_reports_of_an_older_phase_change_nothing(driver):
    late = {"phase": -1, "trained": 9, "score_sum": 0.0, "scores": 0, "bytes_sent": 0}
    driver._members.events.append(MemberReport(0, "progress", late))
    assert driver.fit(1, shuffle=False).examples == 16


def test_the_network_that_a_member_returned_is_taken_over(driver):
    trained = TallyNetwork(16, 1)
    trained.params += 5
    driver._members.network = trained
    driver.fit(1, shuffle=False)
    assert driver._network.params[0] == 5


def dealt_in(driver):
    """Return which minibatches each rank got, phase by phase."""
    phases = [one for one in driver._members.orders if isinstance(one, dict)]
    return [
        {rank: [m.index for m in one.minibatches] for rank, one in orders.items()}
        for orders in phases
    ]


def test_a_run_goes_on_behind_whole_epochs(driver):
    told = events_of(driver)
    driver._network.epoch_count = 2
    driver.fit(3, shuffle=False, start_at=RunPosition(epoch=2))
    assert dealt_in(driver) == [{0: [0, 2], 1: [1, 3]}]
    assert [one.epoch for one in told if isinstance(one, EpochFinished)] == [3]


def test_a_run_goes_on_behind_what_each_worker_has_trained(driver):
    start_at = RunPosition(epoch=0, positions=(1, 0))
    driver.fit(2, shuffle=False, start_at=start_at)
    assert dealt_in(driver) == [{0: [2], 1: [1, 3]}, {0: [0, 2], 1: [1, 3]}]


def test_what_three_workers_left_is_dealt_to_two(driver):
    start_at = RunPosition(epoch=0, positions=(1, 0, 1))
    driver.fit(1, shuffle=False, start_at=start_at)
    assert dealt_in(driver) == [{0: [3], 1: [1]}]
