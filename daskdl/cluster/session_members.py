"""The members of a session as the driver sees them: tasks, addresses, orders."""

import logging
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from distributed import Client

from daskdl.checks import some
from daskdl.cluster import bus
from daskdl.cluster.bus.scheduler_plugin import evict, newcomers
from daskdl.cluster.calls import GONE, LOOK_EVERY_S, Answers, name_waiting
from daskdl.cluster.carried_partitions import Carried, CarriedPartitions
from daskdl.cluster.clocks import client_offset_s
from daskdl.cluster.connection import scheduler_must_answer
from daskdl.cluster.enough_workers import asked_for
from daskdl.cluster.full_memory import FullMemory
from daskdl.cluster.homes import homes_of
from daskdl.cluster.kept_network import NobodyLeftError
from daskdl.cluster.liveness import Liveness
from daskdl.cluster.mailbox import SessionPlugin
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.member_calls import MemberCalls
from daskdl.cluster.member_results import first_result
from daskdl.cluster.member_tasks import PRIORITY, MemberTasks
from daskdl.cluster.missing_workers import start_missing_again
from daskdl.cluster.orders import MemberGone, Order, SessionSpec, Stop
from daskdl.cluster.paused_workers import PausedWorkers, paused_among
from daskdl.cluster.probation import LOOK_AGAIN_S, Probation, Trial, trial_of
from daskdl.cluster.replacements import await_replacements
from daskdl.cluster.reports import (
    DriverEvent,
    LeftOut,
    MemberReport,
    ReportQueue,
    WorkerGone,
)
from daskdl.cluster.session_member import SessionMember, seasoned
from daskdl.cluster.silent_workers import Heartbeat, heard, heartbeats
from daskdl.cluster.worker_selection import WorkerSelection
from daskdl.cluster.worker_wait import WorkerWait
from daskdl.data.plan import Minibatch
from daskdl.data.room import room_of
from daskdl.errors import (
    BusClosedError,
    ClusterError,
    OptionError,
    StepTimeoutError,
    WorkerLostError,
)
from daskdl.nn.fitting.preparation import PreparedData
from daskdl.training.state import NetworkState

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 5.0
SESSION_ADVICE = "Start again, from the last checkpoint if there is one."


class SessionMembers:
    """Start members, give them orders, notice lost ones. A context manager.

    Parameters
    ----------
    client : Client
        A synchronous client.
    master, data
        What the session is about.
    workers : sequence of str or int, optional
        Addresses, or how many; ``None`` takes all that the cluster has.
    resources : dict of str to float, optional
        What a worker must offer to take part; a member holds it as long as it lives.

    Attributes
    ----------
    room : Room
        What each member may hold of stored data.
    memory : FullMemory
        Of workers that went.
    paused : dict of str to str
        Workers that began no task at the last look, and in words why.

    Raises
    ------
    OptionError
        If `client` is asynchronous, or resources are no amounts.
    """

    def __init__(
        self,
        client: Client,
        master: TrainingMaster,
        data: PreparedData,
        workers: Sequence[str] | int | None,
        resources: Mapping[str, float] | None = None,
    ) -> None:
        if client.asynchronous:
            raise OptionError(
                "Session: client must be synchronous, got one that is not. Call from a "
                "thread of its own."
            )
        self._client = client
        self._master = master
        self._carried = CarriedPartitions(data.source.partitions)
        self._resources = dict(resources or {})
        self._selection = WorkerSelection(client, workers, self._resources)
        limits = self._selection.memory_limits()
        self.room = master.room(room_of(limits))
        fits = data.fits(self.room, len(limits))
        self._spec = SessionSpec(
            session=uuid.uuid4().hex,
            master=master,
            normalizer=data.normalizer,
            cache_bytes=self.room.cache_bytes if fits else self.room.window_bytes,
            ahead_bytes=0 if fits else data.ahead_bytes(self.room),
        )
        self._members: dict[int, SessionMember] = {}
        self._asked = frozenset(self._selection.suitable())  # to take the plugins
        self._installed: frozenset[str] = frozenset()
        self._addresses_ever: dict[int, str] = {}
        self._tasks = MemberTasks(client, self._spec, self._resources)
        self._reports = ReportQueue(client, self._spec.topic)
        self._own: deque[WorkerGone | LeftOut] = deque()  # by ourselves
        self._looked_s = time.monotonic()
        self._n_members = 0  # when some were started last
        self._data = data
        in_memory = data.source.in_memory
        self._calls = MemberCalls(client, self._spec.session, in_memory=in_memory)
        self._liveness = Liveness(master)
        self.memory = FullMemory()
        self.paused: dict[str, str] = {}
        self._long_paused = PausedWorkers(self._liveness.start_limit_s)
        self._trial: Trial | None = None
        self._willing: frozenset[str] = frozenset()
        self._probation = Probation(
            client,
            master.start_timeout_s,
            {"resources": self._resources or None, "priority": PRIORITY},
            self._left_out,
        )

    def __enter__(self) -> "SessionMembers":
        timeout_s = self._master.start_timeout_s
        self._installed = bus.install(
            self._client,
            plugins=[SessionPlugin()],
            timeout_s=timeout_s,
            holder=self._spec.session,
            events=self._spec.topic,
            on_waiting=name_waiting("Session", "the fit starts", timeout_s),
        )
        silent = self._asked.intersection(self._selection.suitable()) - self._installed
        for address in sorted(silent):
            logger.warning(
                "Session: %s must answer before the fit starts, it did not. The fit "
                "starts without it.",
                address,
            )
            self._left_out(address, "it did not answer before the fit started")
        self._reports.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._probation.close()
            if error is not None and self._members:
                # Whoever does not answer gives up by itself.
                stop = Stop(reason=f"{type(error).__name__}: {error}")
                orders = {rank: (a, stop) for rank, a in self.addresses.items()}
                self._calls.deliver(orders, STOP_TIMEOUT_S)
            self._reports.__exit__(kind, error, traceback)
            self._tasks.close(self._members.values())
            bus.uninstall(self._client, holder=self._spec.session)
        except (*GONE, RuntimeError):
            # The cluster or the client is closed, and the members give up by
            # themselves; what is told is why the fit ended.
            if error is None:
                raise
        self._members.clear()

    @property
    def addresses(self) -> dict[int, str]:
        """Addresses of the members that are alive, by rank."""
        return {rank: member.address for rank, member in self._members.items()}

    @property
    def hosts(self) -> dict[int, str]:
        """Hosts of those whose task has started, by rank."""
        return {r: m.host for r, m in self._members.items() if m.host is not None}

    @property
    def not_ready(self) -> list[str]:
        """Addresses of members whose task has not started."""
        return [m.address for m in self._members.values() if not m.is_ready]

    def clock_offset_s(self) -> float:
        """Return what is to be added to our clock to get the scheduler's."""
        with self._scheduler_must_answer():
            return client_offset_s(self._client)

    def are_all_waiting(self) -> bool:
        """Return whether the task of no member has started."""
        return not any(member.is_ready for member in self._members.values())

    def address_of(self, rank: int) -> str:
        """Return the address of a member, also of one that is gone."""
        return self._addresses_ever[rank]

    def newcomers(self, *, patient: bool = True) -> list[str]:
        """Return workers that may join: asked for, there, and able to take part.

        Parameters
        ----------
        patient : bool
            Whether to wait for who began to show that a moment ago.
        """
        if self._trial is None:
            return self._free()
        start_missing_again(self._client)
        with self._scheduler_must_answer():
            self._try_out()
            while patient and self._probation.has_just_begun():
                time.sleep(LOOK_AGAIN_S)
                self._try_out()
            passed = self._probation.passed()
            return [address for address in self._free() if address in passed]

    @property
    def have_newcomers(self) -> bool:
        """Whether workers may join that were tried out, as of the last look."""
        return bool(self._willing & {*self._probation.passed()})

    def _free(self) -> list[str]:
        """Return workers that were asked for, are there, and are not taken."""
        there = set(self._selection.suitable())
        # Who comes to the address of one that went is asked again.
        self._installed &= there
        free = there - set(self.addresses.values()) - self.paused.keys()
        if self._trial is None:
            free &= self._installed
        willing = self._probation.willing(sorted(free))
        return willing[: self._selection.vacancies(len(self._members))]

    def start(self, state: NetworkState, *, patient: bool = True) -> None:
        """Start a member on every newcomer, from `state`; see :meth:`newcomers`."""
        if self._trial is None:
            self._leave_out_paused()
        addresses = self.newcomers(patient=patient)
        if self._trial is None:
            self._trial = trial_of(self._data, state)
            try:
                self._selection.check(addresses, self._installed, self.paused)
            except (WorkerLostError, StepTimeoutError, OptionError) as error:
                # There were enough a moment ago. Those that come are waited for.
                if self._asked == {*self._selection.suitable()}:
                    raise
                raise NobodyLeftError(*error.args) from error
        if addresses:
            self._start_on(addresses, state)

    def start_again(self, state: NetworkState, timeout_s: float) -> bool:
        """Start members on whoever comes, where none is left.

        Parameters
        ----------
        state : NetworkState
            From where they go on.
        timeout_s : float
            As :func:`~daskdl.cluster.replacements.await_replacements` takes it.

        Returns
        -------
        has_started : bool
        """
        wanted = max(self._selection.n_wanted, self._n_members)
        present = self._selection.suitable
        wait = WorkerWait(self._client, wanted, after_deaths=True)
        with asked_for(self._client, wanted) as ask:
            there = await_replacements(
                self._able, present, ask, wait, wanted, timeout_s
            )
            if there:
                self._start_on(there, state)
        return bool(there)

    def _able(self) -> list[str]:
        """Return workers that are there, are not taken, and have the plugins."""
        with self._scheduler_must_answer():
            beats = self._heartbeats()
            self._take_back(beats)
            # Of those that were there before nobody is, or it was given up.
            prepared = {a for a, wrong in self._prepared().items() if wrong is None}
        return [address for address in self._free() if address in prepared]

    def _start_on(self, addresses: Sequence[str], state: NetworkState) -> None:
        # Not on newcomers, who have shown the least so far. What is paused goes on with
        # its member, and begins no task.
        awake = [a for a in self.addresses.values() if a not in self.paused]
        ranks = dict(enumerate(addresses, start=len(self._addresses_ever)))
        self._addresses_ever.update(ranks)
        started = self._tasks.start(ranks, state, awake or addresses)
        self._members.update(started)
        for rank, member in started.items():
            self._reports.watch(rank, member.future)
        self._n_members = len(self._members)

    def _start_elsewhere(self, gone: str) -> None:
        """Start those again whose network only one has that went, or is silent."""
        if stuck := self._tasks.stuck(self._members, gone):
            again = [self._members.pop(rank) for rank in stuck]
            self._tasks.cancel(again, self._members.values())
            # They were started together.
            state = stuck[min(stuck)]
            self._start_on([member.address for member in again], state)

    def ready(self, rank: int, host: str) -> None:
        """Note that the task of a member has started, and where."""
        if rank in self._members:
            self._members[rank].started(host)

    def trained(self, rank: int, minibatches: int) -> None:
        """Note what a member has trained in a phase."""
        if rank in self._members:
            self._members[rank].trained += minibatches

    def dismiss_late(self) -> None:
        """Go on without the members whose task has not started."""
        self.dismiss(self.not_ready, "it started too late")

    def dismiss(self, addresses: Sequence[str], reason: str) -> None:
        """Go on without these workers; they are not asked again."""
        ranks = {member.address: rank for rank, member in self._members.items()}
        members = [self._members.pop(ranks[address]) for address in addresses]
        with self._scheduler_must_answer():
            # Whoever does not answer is shut out all the same.
            stop = Stop(reason=reason)
            self._calls.deliver(
                {ranks[a]: (a, stop) for a in addresses}, STOP_TIMEOUT_S
            )
            self._tasks.cancel(members, self._members.values())
            for address in addresses:
                self._shut_out(address)
                self._start_elsewhere(address)

    def lose(self, address: str) -> int | None:
        """Forget the member at `address`; return its rank, None if there is none."""
        ranks = {member.address: rank for rank, member in self._members.items()}
        rank = ranks.get(address)
        if rank is None:
            return None
        self._tasks.cancel([self._members.pop(rank)], self._members.values())
        with self._scheduler_must_answer():
            self._start_elsewhere(address)
            self.memory.ask(self._client)
        self.order_all(MemberGone(rank=rank))
        return rank

    def next_event(self) -> DriverEvent | None:
        """Return the next report, or None when nothing came for a moment."""
        with self._scheduler_must_answer():
            if time.monotonic() - self._looked_s > LOOK_EVERY_S:
                self._look()
            if self._own:
                return self._own.popleft()
            event = self._reports.get()
            if isinstance(event, MemberReport) and event.what == "complaint":
                self._take_complaint(event)
            return event

    def homes(self) -> dict[int, int] | None:
        """Return where partitions lie, by rank; None if they are dealt anywhere."""
        if self._master.repartition == "always" or self._data.source.in_memory:
            return None
        return homes_of(self._client, self._data.source.partitions, self.addresses)

    def to_send(self, rank: int, share: Sequence[Minibatch]) -> Carried:
        """Return a share as the member reads it, and what it was not given of it."""
        if rank not in self._members:
            return tuple(share), {}
        return self._carried.to_send(self._members[rank], share)

    def order_all(self, order: Order) -> None:
        """Give every member the same order."""
        self.order(dict.fromkeys(self._members, order))

    def order(self, orders: Mapping[int, Order]) -> None:
        """Give each member its order; give up members that do not take it in time.

        Raises
        ------
        ClusterError
            When a worker cannot take its order, for instance not unpickle it.
        """
        # The driver has not heard yet of those that were given up a moment ago.
        pending = {e.address for e in self._own if isinstance(e, WorkerGone)}
        given = {
            rank: (self._members[rank].address, order)
            for rank, order in orders.items()
            if rank in self._members and self._members[rank].address not in pending
        }
        limit_s = self._liveness.limit_s
        with self._scheduler_must_answer():
            self._judge(self._calls.deliver(given, limit_s))

    def _judge(self, answers: Answers) -> None:
        """Give up whoever did not answer; an order that fails is an error."""
        limit_s = self._liveness.limit_s
        for address in answers.silent:
            self._give_up(address, f"take an order in {limit_s:g} s, it did not")
        for address, error in answers.failed.items():
            if isinstance(error, BusClosedError):
                self._own.append(WorkerGone(address))
                continue
            raise ClusterError(
                f"Session: {address} must take its order, it failed with {error!r}."
            ) from error

    def stop_at(self, phase: int, positions: Mapping[int, int]) -> dict[int, int]:
        """Take back what members have not begun; see :meth:`Workload.stop_at`.

        Returns where each stops; whoever is missing has gone, or is given up.
        """
        given = {
            rank: (self._members[rank].address, position)
            for rank, position in positions.items()
            if rank in self._members
        }
        with self._scheduler_must_answer():
            answers = self._calls.stop_at(phase, given, self._liveness.limit_s)
            self._judge(answers)
        stops = ((rank, answers.values.get(a)) for rank, (a, _) in given.items())
        return {rank: stop for rank, stop in stops if stop is not None}

    def states(self) -> list[dict[str, Any]]:
        """Return what each member alone has, between phases; empty for the silent."""
        with self._scheduler_must_answer():
            answers = self._calls.states(self.addresses, self._liveness.limit_s)
            # Of a task that failed its own error tells more.
            self._judge(Answers(silent=answers.silent))
        found = (self._members[rank].address for rank in sorted(self._members))
        return [answers.values.get(address, {}) for address in found]

    def snapshot(self) -> NetworkState:
        """Return the network as it is on the first seasoned member that answers.

        On another one if none of them does.

        Raises NobodyLeftError when no member is there any more, or all are silent,
        StepTimeoutError when none of them answers.
        """
        with self._scheduler_must_answer():
            beats = self._heartbeats()
            there = {a: r for r, a in self.addresses.items() if a in beats}
            first = seasoned(self._members.values())
            freshest = sorted(there, key=lambda a: (a not in first, beats[a].silence_s))
            state = self._calls.snapshot(
                [(there[address], address) for address in freshest],
                self._master.peer_timeout_s,
            )
            if state is not None:
                return state
            gone = there.keys().isdisjoint(heard(self._heartbeats()))
        kind = NobodyLeftError if gone else StepTimeoutError
        raise kind(
            f"Session: one of {sorted(self.addresses.values())} must return its "
            "parameters, none did."
        )

    def result(self) -> NetworkState | None:
        """Return the trained network once a seasoned member has returned it."""
        found = seasoned(self._members.values())
        tasks = {address: member.future for address, member in found.items()}
        with self._scheduler_must_answer():
            return first_result(self._client, tasks, self._liveness.limit_s)

    def _scheduler_must_answer(self) -> AbstractContextManager[None]:
        return scheduler_must_answer(self._client, "Session", SESSION_ADVICE)

    def _look(self) -> None:
        """Find members that went or no longer answer, and try newcomers out."""
        self._looked_s = time.monotonic()
        beats = self._heartbeats()
        self._reports.tell_gone(a for a in self.addresses.values() if a not in beats)
        self._dismiss_paused()
        starting = self.not_ready
        begun = [a for a in self.addresses.values() if a not in starting]
        silent = self._liveness.silent(begun, starting, beats)
        for address, limit_s in silent.items():
            self._give_up(address, f"give a sign of life in {limit_s:g} s, it did not")
        rank = self._liveness.unheard(self._members)
        if rank is not None:
            limit_s = self._master.peer_timeout_s
            self._give_up(
                self.addresses[rank],
                f"hear its peers, and be heard, in {limit_s:g} s, it was not. Raise "
                "peer_timeout_s if a minibatch takes longer",
            )
        self._take_back(beats)
        self._try_out()

    def _take_complaint(self, event: MemberReport) -> None:
        if silent := [self.address_of(rank) for rank in event.values["silent"]]:
            logger.warning(
                "Session: %s has heard nothing from %s for %g s.",
                self.address_of(event.rank),
                some(silent),
                self._master.peer_timeout_s,
            )
        self._liveness.complain(event.rank, event.values)

    def _take_back(self, beats: Mapping[str, Heartbeat]) -> None:
        """Ask those again that were given up, once they show that they are free."""
        heard = self._liveness.heard_again(beats)
        if not heard:
            return
        stop = Stop(reason="it was given up")
        orders = {rank: (address, stop) for rank, address in heard.items()}
        answers = self._calls.deliver(orders, STOP_TIMEOUT_S)
        for address, is_there in answers.values.items():
            if not is_there:
                self._liveness.take_back(address)
                self._probation.forgive(address)

    def _heartbeats(self) -> dict[str, Heartbeat]:
        beats: dict[str, Heartbeat] = self._client.run_on_scheduler(heartbeats)
        self.paused = paused_among(beats, beats)
        self.memory.note(beats)
        return beats

    def _leave_out_paused(self) -> None:
        """Leave out members that stay paused; they may come back as newcomers."""
        with self._scheduler_must_answer():
            self._heartbeats()
        for address in sorted(
            self._installed & self.paused.keys() & {*self._selection.suitable()}
        ):
            self._tell_paused(address, "The fit starts without it.")

    def _dismiss_paused(self) -> None:
        """Go on without members that were paused before their task began."""
        paused = [address for address in self.not_ready if address in self.paused]
        late = self._long_paused.judge(paused)
        if not late or len(late) == len(self._members):
            return  # Without any other, the start has its own limit.
        for address in late:
            self._tell_paused(address, "The fit goes on without it.")
        self.dismiss(late, "it is paused")

    def _tell_paused(self, address: str, so: str) -> None:
        reason = self.paused[address]
        logger.warning(
            "Session: %s must begin its task, it %s. %s", address, reason, so
        )
        self._left_out(address, f"it {reason}")

    def _try_out(self) -> None:
        if self._trial is not None and self._master.elastic:
            free = self._free()
            self._willing = frozenset(free)
            prepared = self._prepared() if free else {}
            self._probation.look(free, self._trial, prepared)

    def _prepared(self) -> dict[str, str | None]:
        """Return which workers have the plugins (None), or why they cannot."""
        since: dict[str, str | None] = self._client.run_on_scheduler(newcomers)
        return {**dict.fromkeys(self._installed), **since}

    def _give_up(self, address: str, what: str) -> None:
        """Count a worker that is there as gone."""
        logger.warning(
            "Session: %s must %s. The fit goes on without it.", address, what
        )
        ranks = {member.address: rank for rank, member in self._members.items()}
        if address in ranks:
            self._liveness.give_up(address, ranks[address])
        self._shut_out(address)
        self._own.append(WorkerGone(address))

    def _left_out(self, address: str, reason: str) -> None:
        self._own.append(LeftOut(address, reason))

    def _shut_out(self, address: str) -> None:
        """Have the others forget a worker that may wake up again."""
        self._probation.refuse(address)
        self._client.run_on_scheduler(evict, self._spec.topic, address)
