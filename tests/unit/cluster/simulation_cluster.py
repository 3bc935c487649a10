"""A stand-in for Dask: members, their mailboxes, what the driver hears, and faults.

Everything above that is the real thing: Driver, PhaseLedger, Member, the
exchanges and the rules of the masters.
"""

import math
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from daskdl.cluster import driver, kept_network, phase, session
from daskdl.cluster.complaints import Complaint, Complaints
from daskdl.cluster.exchanges import base, gradient_sharing, parameter_averaging
from daskdl.cluster.full_memory import FullMemory
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters import dense_sum
from daskdl.cluster.masters.options import SharedTrainingMaster, TrainingMaster
from daskdl.cluster.masters.shared_update import merge_waiting
from daskdl.cluster.orders import EndEpoch, MemberGone, Order, SessionSpec, Stop
from daskdl.cluster.reports import MemberFailed, MemberReport, WorkerGone
from daskdl.cluster.stats import progress
from daskdl.data.dataset import DataSet
from daskdl.data.plan import plan_minibatches
from daskdl.data.room import LEAST_ROOM
from daskdl.data.scan import PartitionFacts
from daskdl.data.sources.partition import Partition, Source
from daskdl.errors import MissingExtraError
from daskdl.nn.fitting import fit as fitting
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import PreparedData
from daskdl.nn.fitting.run_checkpoint import Resumed
from daskdl.nn.fitting.run_state import RunPosition
from daskdl.training.state import (
    NetworkState,
    load_state,
    state_of,
)
from tests.unit.cluster.simulation_bus import SimulatedBus, SimulatedTopic
from tests.unit.cluster.simulation_residuals import WatchedPeer
from tests.unit.cluster.simulation_world import Actor, Killed, World
from tests.unit.cluster.tally_network import TallyNetwork, copied


class NumberedRows(Partition):
    """Examples that are their own numbers."""

    def __init__(self, first: int, rows: int) -> None:
        self.name, self.rows, self._first = f"rows from {first}", rows, first

    def load(self) -> DataSet:
        numbers = np.arange(self._first, self._first + self.rows)[:, np.newaxis]
        return DataSet(numbers.astype(np.float64), np.zeros((self.rows, 1)))


def numbered_data(rows: Sequence[int], batch_size: int, *, in_memory: bool) -> Any:
    firsts = np.cumsum([0, *rows[:-1]])
    partitions = tuple(
        NumberedRows(int(first), n) for first, n in zip(firsts, rows, strict=True)
    )
    facts = PartitionFacts("rows", sum(rows), ((1,),), ((1,),))
    source = Source("rows", partitions, in_memory=in_memory)
    minibatches = tuple(plan_minibatches(rows, batch_size))
    streams = tuple(range(len(rows)))
    return PreparedData(source, facts, minibatches, None, tuple(rows), streams)


@dataclass
class Fate:
    """When a worker goes, and how.

    ``order`` is the number of the order after which it goes (0: before its first), and
    ``within_steps`` how soon after. A zombie is lost to the scheduler and lives on.
    """

    order: int
    within_steps: int
    is_zombie: bool = False


@dataclass
class Worker:
    """One worker, and its member if it has one."""

    address: str
    fate: Fate | None = None
    from_epoch: int = 0  # when it joins the cluster
    comes_back: int = 0  # how often all must have gone before it joins
    lives_s: float = math.inf  # from when its member is started on
    is_unfit: bool = False  # its task fails before it is ready
    is_slow: bool = False  # what it sends and what it is sent takes long
    minibatch_s: float = 0.0  # how long each takes it
    host: str = "here"
    comes_s: float = 0.0  # when it joins the cluster
    rank: int | None = None
    actor: Actor | None = None
    mailbox: "SimulatedMailbox | None" = None
    topic: SimulatedTopic | None = None
    network: Any = None
    is_there: bool = True  # as the scheduler knows
    is_dead: bool = False
    orders: int = 0
    went_in: int = -1  # which phase
    peer: WatchedPeer | None = None  # of gradient sharing


class SimulatedMailbox(Mailbox):
    """The real mailbox, which waits in the simulated world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def get(self, timeout_s: float, look: Any = None) -> Order:
        self._world.wait(lambda: not self._orders.empty(), timeout_s)
        return super().get(0, look)


@dataclass
class SimulatedCluster:
    """Takes the place of a Client; :class:`SimulatedMembers` works on it."""

    world: World
    workers: list[Worker]
    queue: deque[Any] = field(default_factory=deque)
    snapshots: dict[int, dict[int, Any]] = field(default_factory=dict)
    disturbed: set[int] = field(default_factory=set)  # phases in which somebody went
    phase: int = -1
    all_went: int = 0  # how often
    lost: list[str] = field(default_factory=list)  # that the driver took note of
    blank: Any = None  # a network as every member starts with
    address: str = "simulated"  # of whichever worker asks
    scheduler_delay: float = 0.0  # all have one clock
    snapshots_s: deque[float] = field(default_factory=deque)  # what the first ones take

    def __post_init__(self) -> None:
        self.bus = SimulatedBus(self.world)

    def log_event(self, topic: str, message: Mapping[str, Any]) -> None:
        """Stand in for ``Worker.log_event``."""
        values = dict(message)
        rank, what = values.pop("rank"), values.pop("what")
        worker = next(w for w in self.workers if w.rank == rank)
        if what == "finished":
            vectors = (worker.network.params.copy(), worker.network.iteration_count)
            self.snapshots.setdefault(values["phase"], {})[rank] = vectors
        if worker.is_there:
            # What a worker sent before it died arrives before the news of its death.
            self.queue.append(MemberReport(rank, what, values))

    def report(self, topic: str, message: Mapping[str, Any]) -> bool:
        """Stand in for ``BusWorkerPlugin.report``."""
        self.log_event(topic, message)
        return True

    def strike(self, worker: Worker) -> None:
        """Let the worker's fate happen."""
        if worker.is_dead or not worker.is_there:
            return
        worker.is_there = False
        worker.went_in = self.phase
        self.disturbed.add(self.phase)
        # Both are told by the scheduler, over different connections.
        self.world.later(lambda: self.queue.append(WorkerGone(worker.address)), 60)
        if worker.fate is not None and worker.fate.is_zombie:
            self.world.later(lambda: self._remove(worker), 200)
        else:
            worker.is_dead = True
            worker.actor.is_killed = True
            self._remove(worker)

    def give_up(self, worker: Worker) -> None:
        """The driver gives a worker up that is there."""
        worker.is_there = False
        worker.went_in = self.phase
        self.disturbed.add(self.phase)
        self.queue.append(WorkerGone(worker.address))
        self._remove(worker)

    def _remove(self, worker: Worker) -> None:
        if worker.topic is not None:
            self.bus.remove(worker.topic)
        elif not worker.is_dead:
            worker.mailbox.put(Stop(reason="the worker is closing"))

    def run_member(
        self, worker: Worker, spec: SessionSpec, state: NetworkState, network: Any
    ) -> NetworkState:
        """What ``run_member`` does, without Dask."""
        self.world.pause()
        if worker.is_unfit:
            raise MissingExtraError("Worker: a package must be installed, it is not.")
        load_state(network, state)
        worker.network = network
        if worker.minibatch_s:
            network.work = lambda: self.world.wait(lambda: False, worker.minibatch_s)
        sharing = isinstance(spec.master, SharedTrainingMaster)
        when_full = merge_waiting(network.params.size) if sharing else "block"
        worker.topic = topic = self.bus.open(worker.rank, when_full)
        if worker.is_slow:
            self.bus.slow.add(topic.me)
        try:
            peers = session._exchange(
                spec, worker.rank, topic, worker.mailbox, network, state
            )
            member = session.Member(
                spec, worker.rank, network, peers, worker.mailbox, topic, self
            )
            if sharing:
                worker.peer = peers._peer = WatchedPeer(peers._peer)
            member.report("ready", host=worker.host)
            self.world.pause()
            trained = member.run()
            member.report(
                "returned",
                bytes_sent=topic.stats.bytes_sent,
                staleness=asdict(peers.staleness),
            )
            return trained
        except Exception:
            self.bus.remove(topic)
            raise
        finally:
            if not worker.is_dead:
                topic.close()


class SimulatedMembers:
    """The driver's view of the members, as the real SessionMembers give it."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        master: TrainingMaster,
        data: PreparedData,
        workers: None,
        resources: None,
    ) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._partitions = data.source.partitions
        self._spec = SessionSpec(session="s", master=master)
        self.room = LEAST_ROOM
        self.memory = FullMemory()
        self._alive: dict[int, Worker] = {}
        self._ready: set[int] = set()
        self._known: dict[int, set[int]] = {}
        self._started = 0
        self._epochs = 0
        self._complaints = Complaints(master.peer_timeout_s / 4)

    def __enter__(self) -> "SimulatedMembers":
        return self

    def clock_offset_s(self) -> float:
        """All have one clock."""
        return 0.0

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is not None:
            for worker in self._alive.values():
                worker.mailbox.put(Stop(reason=f"{error}"))

    @property
    def addresses(self) -> dict[int, str]:
        return {rank: worker.address for rank, worker in self._alive.items()}

    @property
    def not_ready(self) -> list[str]:
        return [w.address for r, w in self._alive.items() if r not in self._ready]

    def address_of(self, rank: int) -> str:
        return next(w.address for w in self._cluster.workers if w.rank == rank)

    @property
    def have_newcomers(self) -> bool:
        return bool(self._free())

    def newcomers(self, *, patient: bool = True) -> list[str]:
        return [worker.address for worker in self._free()]

    def are_all_waiting(self) -> bool:
        return self._ready.isdisjoint(self._alive)

    def start_again(self, state: NetworkState, timeout_s: float) -> bool:
        self._cluster.all_went += 1
        self.start(state)
        return bool(self._alive)

    def start(self, state: NetworkState, *, patient: bool = True) -> None:
        for worker in self._free():
            worker.rank = rank = self._started
            self._started += 1
            self._alive[rank] = worker
            worker.mailbox = SimulatedMailbox(self._world)
            worker.actor = self._world.spawn(worker.address, self._body(worker, state))
            self._strike_after_order(worker)
            if worker.lives_s < math.inf:
                self._world.spawn("fate", partial(self._strike_in_time, worker))

    @property
    def hosts(self) -> dict[int, str]:
        return {rank: worker.host for rank, worker in self._alive.items()}

    def ready(self, rank: int, host: str) -> None:
        self._ready.add(rank)

    def trained(self, rank: int, minibatches: int) -> None:
        """Whichever member is asked here knows as much as any."""

    def dismiss(self, addresses: Sequence[str], reason: str) -> None:
        for rank, worker in list(self._alive.items()):
            if worker.address in addresses:
                del self._alive[rank]

    def lose(self, address: str) -> int | None:
        ranks = {worker.address: rank for rank, worker in self._alive.items()}
        if address not in ranks:
            return None
        lost = self._alive.pop(ranks[address])
        self._cluster.lost.append(address)
        # It may have been dealt its part of phases that began before this news came.
        self._cluster.disturbed.update(range(lost.went_in, self._cluster.phase + 1))
        self.order_all(MemberGone(rank=ranks[address]))
        return ranks[address]

    def next_event(self) -> Any:
        queue = self._cluster.queue
        self._world.wait(lambda: bool(queue), 0.5)
        rank = self._complaints.verdict(self._alive, self._world.now)
        if rank is not None:
            self._cluster.give_up(self._alive[rank])
        event = queue.popleft() if queue else None
        if isinstance(event, MemberReport) and event.what == "complaint":
            silent, stage = event.values["silent"], tuple(event.values["stage"])
            complaint = Complaint(frozenset(silent), stage)
            self._complaints.take(event.rank, complaint, self._world.now)
        return event

    def homes(self) -> None:
        """Tell that partitions are dealt anywhere."""

    def to_send(
        self, rank: int, share: Sequence[Any]
    ) -> tuple[tuple[Any, ...], dict[int, Partition]]:
        known = self._known.setdefault(rank, set())
        needed = {piece.partition for batch in share for piece in batch.pieces} - known
        known |= needed
        return tuple(share), {number: self._partitions[number] for number in needed}

    def order_all(self, order: Order) -> None:
        self.order(dict.fromkeys(self._alive, order))

    def order(self, orders: Mapping[int, Order]) -> None:
        self._epochs += any(isinstance(order, EndEpoch) for order in orders.values())
        for rank in self._world.rng.sample(sorted(orders), len(orders)):
            self._world.pause()
            worker, order = self._alive.get(rank), orders[rank]
            self._cluster.phase = getattr(order, "phase", self._cluster.phase)
            if worker is None or worker.is_dead:
                continue
            worker.mailbox.put(order)
            if not isinstance(order, MemberGone):
                self._strike_after_order(worker)

    def stop_at(self, phase: int, positions: Mapping[int, int]) -> dict[int, int]:
        stops = {}
        for rank in self._world.rng.sample(sorted(positions), len(positions)):
            self._world.pause()
            worker = self._alive.get(rank)
            if worker is not None and not worker.is_dead and worker.is_there:
                stops[rank] = worker.mailbox.stop_at(phase, positions[rank])
        # It may have gone before its answer came.
        there = {rank: stop for rank, stop in stops.items() if stop is not None}
        return {r: s for r, s in there.items() if self._alive[r].is_there}

    def states(self) -> list[dict[str, Any]]:
        self._world.pause()
        return [
            {} if worker.is_dead else worker.mailbox.exchange.state_dict()
            for _, worker in sorted(self._alive.items())
        ]

    def snapshot(self) -> NetworkState:
        self._world.pause()
        if self._cluster.snapshots_s:
            takes_s = self._cluster.snapshots_s.popleft()
            self._world.wait(lambda: False, takes_s)
        worker = next(iter(self._alive.values()))
        return state_of(worker.network, velocity=worker.mailbox.exchange.velocity)

    def result(self) -> NetworkState | None:
        for worker in self._alive.values():
            if worker.actor.result is not None and worker.is_there:
                return worker.actor.result
        return None

    def _free(self) -> list[Worker]:
        return [
            worker
            for worker in self._cluster.workers
            if worker.rank is None
            and worker.is_there
            and worker.from_epoch <= self._epochs
            and worker.comes_s <= self._world.now
            and worker.comes_back <= self._cluster.all_went
        ]

    def _strike_after_order(self, worker: Worker) -> None:
        fate = worker.fate
        if fate is not None and worker.orders == fate.order:
            self._world.later(lambda: self._cluster.strike(worker), fate.within_steps)
        worker.orders += 1

    def _strike_in_time(self, worker: Worker) -> None:
        self._world.wait(lambda: False, worker.lives_s)
        self._cluster.strike(worker)

    def _body(self, worker: Worker, state: NetworkState) -> Any:
        network = copied(self._cluster.blank)

        def body() -> NetworkState:
            try:
                return self._cluster.run_member(worker, self._spec, state, network)
            except Killed:
                raise
            except Exception as error:
                if worker.is_there:
                    self._cluster.queue.append(MemberFailed(worker.rank, error))
                raise

        return body


@dataclass
class Outcome:
    """What is left of a simulated fit."""

    cluster: SimulatedCluster
    network: TallyNetwork
    report: Any
    error: BaseException | None

    @property
    def survivors(self) -> list[Worker]:
        return [
            worker
            for worker in self.cluster.workers
            if worker.rank is not None and worker.is_there and not worker.is_unfit
        ]


def simulate(
    monkeypatch: Any,
    seed: int,
    master: TrainingMaster,
    workers: list[Worker],
    data: PreparedData,
    *,
    epochs: int = 1,
    dtype: Any = np.float32,
    put: Any = np.asarray,
    network: Any = None,
    cut: tuple[int, ...] = (),
    listeners: Sequence[Listener] = (),
    resumed: Resumed | None = None,
    shuffle: bool | None = None,
    snapshots_s: Sequence[float] = (),
) -> Outcome:
    """Run one fit with the real driver and the real members.

    What members hold lies where `put` brings it, what the driver holds does not.
    Without a `network` it is one that tallies. Nothing comes through between the two
    ranks of `cut`. Goes on from what was `resumed`. The first snapshots take
    `snapshots_s`, all others no time.
    """
    world = World(seed)
    cluster = SimulatedCluster(world, workers)
    cluster.blank = network
    cluster.snapshots_s.extend(snapshots_s)
    cluster.bus.cut = {frozenset(cut)}
    if network is None:
        network = TallyNetwork(data.examples, epochs, dtype)
        cluster.blank = TallyNetwork(data.examples, epochs, dtype, put)
    on_the_clock = (
        *(base, gradient_sharing, parameter_averaging),
        *(driver, fitting, kept_network, phase, session, progress),
    )
    for module in on_the_clock:
        monkeypatch.setattr(module, "time", world)
    # What is so small would otherwise always go to all.
    monkeypatch.setattr(
        dense_sum, "PLAIN_BELOW_BYTES", random.Random(seed).choice([0, 2**16])
    )
    monkeypatch.setattr(dense_sum, "CHUNK_BYTES", 32)
    monkeypatch.setattr(session, "get_worker", lambda: cluster)
    monkeypatch.setattr(session, "REPORT_EVERY_S", world.rng.choice([0.0, 0.1]))
    monkeypatch.setattr(driver, "SessionMembers", SimulatedMembers)
    monkeypatch.setattr(driver, "WORTH_JOINING_S", world.rng.choice([0.0, 0.5]))
    monkeypatch.setattr(driver, "WORTH_STANDING_S", 0.0)
    states = () if resumed is None else resumed.state.members
    made = driver.Driver(
        *(cluster, network, master, data),
        listeners=listeners,
        resumed=resumed,
        states=states,
    )
    shuffled = world.rng.random() < 0.5 if shuffle is None else shuffle
    start_at = RunPosition() if resumed is None else resumed.state.position

    def fit() -> Any:
        with made as entered:
            return entered.fit(epochs, shuffle=shuffled, start_at=start_at)

    try:
        main = world.spawn("driver", fit)
        world.run(lambda: main.is_done)
        # The driver takes the first result; the others end by themselves.
        world.run(lambda: all(w.actor.is_done for w in workers if w.actor))
        return Outcome(cluster, network, made.report, main.error)
    finally:
        world.close()
