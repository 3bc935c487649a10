"""The members of a session as the driver sees them: tasks, addresses, orders."""

import asyncio
import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from distributed import CancelledError, Client, Future
from distributed.comm import CommClosedError

from daskdl.checks import check_positive, some
from daskdl.cluster import bus
from daskdl.cluster.mailbox import SessionPlugin, deliver
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.orders import MemberGone, Order, SessionSpec, Stop
from daskdl.cluster.reports import LOOK_EVERY_S, DriverEvent, ReportQueue
from daskdl.cluster.session import run_member, snapshot
from daskdl.data.plan import Minibatch
from daskdl.data.sources.source import Partition
from daskdl.errors import ClusterError, OptionError, StepTimeoutError
from daskdl.training.preparation import PreparedData
from daskdl.training.state import NetworkState

logger = logging.getLogger(__name__)

DELIVERY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
# What a call to a worker that went ends with, on every Python.
_GONE = (OSError, asyncio.TimeoutError)
# Above tasks of other users that came later: a session waits for all its members.
PRIORITY = 10


@dataclass
class _Member:
    address: str
    future: Future
    is_ready: bool = False
    partitions: set[int] = field(default_factory=set)  # that it was given


class Crew:
    """Start members, give them orders, notice who is gone. A context manager.

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
                "Session: client must be synchronous, got an asynchronous one. Call "
                "from a thread of its own."
            )
        self._client = client
        self._partitions = data.source.partitions
        self._wanted = workers
        self._resources = dict(resources or {})
        for name, amount in self._resources.items():
            check_positive("Session", f"resources[{name!r}]", amount)
        self._spec = SessionSpec(
            session=uuid.uuid4().hex, master=master, normalizer=data.normalizer
        )
        self._members: dict[int, _Member] = {}
        self._dismissed: set[str] = set()
        self._addresses_ever: dict[int, str] = {}
        self._reports = ReportQueue(client, self._spec.topic)

    def __enter__(self) -> "Crew":
        bus.install(self._client)
        self._client.register_plugin(SessionPlugin())
        self._reports.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is not None and self._members:
                self._stop(f"{type(error).__name__}: {error}")
            self._reports.__exit__(kind, error, traceback)
            self._client.cancel([member.future for member in self._members.values()])
        except (*_GONE, RuntimeError):
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
    def not_ready(self) -> list[str]:
        """Addresses of members whose task has not started."""
        return [m.address for m in self._members.values() if not m.is_ready]

    def address_of(self, rank: int) -> str:
        """Return the address of a member, also of one that is gone."""
        return self._addresses_ever[rank]

    def newcomers(self) -> list[str]:
        """Return workers that may join: asked for, there, and not yet taken."""
        taken = set(self.addresses.values()) | self._dismissed
        free = sorted(set(self._suitable()) - taken)
        if isinstance(self._wanted, int):
            return free[: max(0, self._wanted - len(self._members))]
        if self._wanted is not None:
            return [address for address in free if address in self._wanted]
        return free

    def _suitable(self) -> list[str]:
        """Return workers that offer what a member needs."""
        if not self._resources:
            return list(self._client.nthreads())
        # From 2025.4 to 2026.3 it lists five workers unless it is told not to.
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return [
            address
            for address, worker in workers.items()
            if all(
                worker["resources"].get(name, 0) >= amount
                for name, amount in self._resources.items()
            )
        ]

    def start(self, state: NetworkState) -> None:
        """Start a member on every newcomer, from `state`."""
        addresses = self.newcomers()
        self._check_wanted(addresses)
        shared = self._client.scatter(
            state, workers=addresses, broadcast=True, hash=False
        )
        for address in addresses:
            rank = len(self._addresses_ever)
            self._addresses_ever[rank] = address
            future = self._client.submit(
                run_member,
                self._spec,
                rank,
                address,
                shared,
                key=f"{self._spec.topic}-{rank}",
                workers=[address],
                allow_other_workers=False,
                resources=self._resources or None,
                pure=False,
                retries=0,
                priority=PRIORITY,
            )
            self._members[rank] = _Member(address, future)
            self._reports.watch(rank, future)

    def ready(self, rank: int) -> None:
        """Note that the task of a member has started."""
        if rank in self._members:
            self._members[rank].is_ready = True

    def dismiss_late(self) -> None:
        """Go on without the members whose task has not started."""
        late = {rank for rank, m in self._members.items() if not m.is_ready}
        self.order(dict.fromkeys(late, Stop(reason="it started too late")))
        members = [self._members.pop(rank) for rank in late]
        self._dismissed.update(member.address for member in members)
        self._client.cancel([member.future for member in members])

    def lose(self, address: str) -> int | None:
        """Forget the member at `address`; return its rank, None if there is none."""
        ranks = {member.address: rank for rank, member in self._members.items()}
        rank = ranks.get(address)
        if rank is None:
            return None
        self._client.cancel([self._members.pop(rank).future])
        self.order_all(MemberGone(rank=rank))
        return rank

    def next_event(self) -> DriverEvent | None:
        """Return the next report, or None when nothing came for a moment."""
        with self._scheduler_must_answer():
            return self._reports.get(self.addresses.values())

    def new_partitions(
        self, rank: int, share: Sequence[Minibatch]
    ) -> dict[int, Partition]:
        """Return the partitions of `share` that the member has not been given."""
        known = self._members[rank].partitions if rank in self._members else set()
        needed = {piece.partition for batch in share for piece in batch.pieces}
        new = {number: self._partitions[number] for number in needed - known}
        known |= needed
        return new

    def order_all(self, order: Order) -> None:
        """Give every member the same order."""
        self.order(dict.fromkeys(self._members, order))

    def order(self, orders: Mapping[int, Order]) -> None:
        """Give each member its order. Whoever is gone will be noticed elsewhere."""
        by_address = {
            self._members[rank].address: order
            for rank, order in orders.items()
            if rank in self._members
        }
        with self._scheduler_must_answer():
            self._deliver(by_address, DELIVERY_TIMEOUT_S)

    def snapshot(self) -> NetworkState:
        """Return the network as it is on the first member that answers."""
        for address in self.addresses.values():
            answer = self._client.run(
                snapshot, self._spec.session, workers=[address], on_error="return"
            ).get(address)
            if isinstance(answer, NetworkState):
                return answer
        raise StepTimeoutError(
            f"Session: one of {sorted(self.addresses.values())} must return its "
            "parameters, none did."
        )

    def result(self) -> NetworkState | None:
        """Return the trained network once a member has returned it."""
        done = [m for m in self._members.values() if m.future.status == "finished"]
        if not done:
            return None
        with self._scheduler_must_answer():
            there = self._client.nthreads()
        for member in done:
            if member.address in there:
                try:
                    state: NetworkState = member.future.result(DELIVERY_TIMEOUT_S)
                    return state
                except (asyncio.TimeoutError, CancelledError):
                    # It went with its worker. The others return the same network.
                    logger.info("Session: no result from %s", member.address)
        return None

    @contextmanager
    def _scheduler_must_answer(self) -> Iterator[None]:
        try:
            yield
        except CommClosedError as error:
            raise ClusterError(
                "Session: the scheduler must stay reachable, the connection to "
                f"{self._client.scheduler.address} broke. Start again from the last "
                "checkpoint."
            ) from error

    def _check_wanted(self, addresses: Sequence[str]) -> None:
        there = sorted(self._client.nthreads())
        if not addresses or (isinstance(self._wanted, int) and not self._members):
            n_wanted = self._wanted if isinstance(self._wanted, int) else 1
            if len(addresses) >= n_wanted:
                return
            if self._resources:
                raise OptionError(
                    f"Session: {n_wanted} workers must offer {self._resources}, got "
                    f"{len(addresses)} of {len(there)} that do. Start workers with "
                    "--resources, or leave resources out."
                )
            raise OptionError(
                f"Session: workers must be workers of the cluster, got "
                f"{self._wanted!r}; it has {len(there)}: {some(there)}."
            )

    def _stop(self, reason: str) -> None:
        orders = dict.fromkeys(self.addresses.values(), Stop(reason=reason))
        with suppress(ClusterError):
            # Whoever does not answer gives up by itself.
            self._deliver(orders, STOP_TIMEOUT_S)

    def _deliver(self, orders: Mapping[str, Order], timeout_s: float) -> None:
        late = self._client.sync(self._deliver_all, orders, timeout_s)
        if late:
            raise StepTimeoutError(
                f"Session: workers {sorted(late)} must take an order within "
                f"{timeout_s:g} s, they did not."
            )

    async def _deliver_all(
        self, orders: Mapping[str, Order], timeout_s: float
    ) -> set[str]:
        """Return the workers that are there and did not take their order in time.

        Raises
        ------
        ClusterError
            When a worker cannot take its order, for instance not unpickle it.

        Notes
        -----
        A call to a dead worker tries to connect for 30 s; it is given up as soon as
        the scheduler knows that the worker is gone.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        calls = {
            address: asyncio.ensure_future(self._call(address, order))
            for address, order in orders.items()
        }
        waiting = set(calls)
        try:
            while waiting and loop.time() < deadline:
                await asyncio.wait(
                    [calls[address] for address in waiting], timeout=LOOK_EVERY_S
                )
                there = await self._client.nthreads()
                waiting = {a for a in waiting if a in there and not calls[a].done()}
        finally:
            for call in calls.values():
                call.cancel()
            ends = await asyncio.gather(*calls.values(), return_exceptions=True)
        for address, error in zip(calls, ends, strict=True):
            if isinstance(error, Exception) and not isinstance(error, _GONE):
                raise ClusterError(
                    f"Session: {address} must take its order, it failed with {error!r}."
                ) from error
        return waiting

    async def _call(self, address: str, order: Order) -> Any:
        answers = await self._client.run(
            deliver, self._spec.session, order, workers=[address], on_error="return"
        )
        return answers.get(address)
