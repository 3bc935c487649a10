"""A stand-in for the bus, with its promises and no more than these.

Messages of a pair arrive in order; Joined comes before the first message and Left after
the last one; what is published before a member is known does not reach it; of what a
member sent before it died, each peer gets a part of its own.
"""

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from daskdl.cluster.bus import Joined, Left, Member, Message
from daskdl.errors import BusClosedError, StepTimeoutError
from tests.unit.cluster.simulation_world import World


class SimulatedBus:
    """The topic of one session."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.topics: dict[str, SimulatedTopic] = {}
        self.queue_length = world.rng.choice([1, 2, 32])
        self.slow: set[str] = set()  # who is at the end of a slow line
        # Pairs of ranks between which nothing comes through, though all are there.
        self.cut: set[frozenset[int]] = set()
        world.deliveries = self._deliveries

    def open(self, rank: int, when_full: Any) -> "SimulatedTopic":
        topic = SimulatedTopic(self, rank, when_full)
        others = list(self.topics.values())
        self.topics[topic.me] = topic
        for other in others:
            topic.hear_of(other)
            self.world.later(lambda other=other: other.hear_of(topic))
        # Topic.open returns when the others know the newcomer, or after a while.
        if self.world.rng.random() < 0.8:
            self.world.wait(
                lambda: all(o.is_closed or topic.me in o.known for o in others)
            )
        return topic

    def remove(self, topic: "SimulatedTopic") -> None:
        """The scheduler removes a member: the others hear it, each in its time."""
        self.topics.pop(topic.me, None)
        topic.is_closed = True
        for other in list(self.topics.values()):
            queue = other.links.get(topic.me)
            if queue is not None:
                kept = self.world.rng.randint(0, len(queue))
                other.links[topic.me] = deque(list(queue)[:kept])
                self.world.later(lambda o=other: o.lose(topic.me, clean=False))

    def _deliveries(self) -> list[Callable[[], None]]:
        return [
            lambda topic=topic, source=source: topic.deliver(source)
            for topic in self.topics.values()
            for source, queue in topic.links.items()
            if queue and not self._is_held_up(topic.me, source)
        ]

    def is_cut(self, one: "SimulatedTopic", other: "SimulatedTopic") -> bool:
        return frozenset((one.meta["rank"], other.meta["rank"])) in self.cut

    def _is_held_up(self, one: str, other: str) -> bool:
        pair = [self.topics[me] for me in (one, other) if me in self.topics]
        if len(pair) == 2 and self.is_cut(*pair):
            return True
        return bool(self.slow & {one, other}) and self.world.rng.random() < 0.95


class SimulatedTopic:
    """What a task sees of the bus; `links` holds what is on the way to it."""

    def __init__(self, bus: SimulatedBus, rank: int, when_full: Any) -> None:
        self.me = f"member-{rank}"
        self.meta = {"rank": rank}
        self.known: dict[str, SimulatedTopic] = {}
        self.links: dict[str, deque[Any]] = {}
        self.inbox: deque[Any] = deque()
        self.is_closed = False
        self.stats = SimpleNamespace(bytes_sent=0)
        self._bus = bus
        self._world = bus.world
        self._when_full = when_full

    # What the bus does.

    def hear_of(self, other: "SimulatedTopic") -> None:
        if other.is_closed or self.is_closed or other.me in self.known:
            return
        self.known[other.me] = other
        self.links[other.me] = deque()
        self.inbox.append(Joined(other.me, other.me, other.meta))

    def deliver(self, source: str) -> None:
        event = self.links[source].popleft()
        self.inbox.append(event)

    def lose(self, source: str, *, clean: bool) -> None:
        self.known.pop(source, None)
        self.links[source].append(Left(source, clean))

    # What the task does.

    def members(self) -> dict[str, Member]:
        return {me: Member(me, topic.meta) for me, topic in self.known.items()}

    def get(self, timeout_s: float) -> Any:
        self._world.wait(lambda: self.inbox or self.is_closed, timeout_s)
        self._check_open()
        return self.inbox.popleft() if self.inbox else None

    def drain(self) -> list[Any]:
        self._world.pause()
        self._check_open()
        taken = list(self.inbox)
        self.inbox.clear()
        return taken

    def publish(
        self,
        data: Any,
        *,
        to: str | None = None,
        copy: bool,
        is_whole: bool = False,
        is_brief: bool = False,
        timeout_s: float,
        on_block: Any,
    ) -> None:
        self._world.pause()
        self._check_open()
        merges = callable(self._when_full) and not is_whole
        if not merges:
            self._wait_for_room(to, timeout_s, on_block)
        for peer in self._receivers(to):
            queue = peer.links[self.me]
            told = deepcopy(data)
            if merges and len(queue) >= self._bus.queue_length:
                told = self._when_full([*(event.data for event in queue), told])
                queue.clear()
            queue.append(Message(self.me, "", 1, 1, told))
        self.stats.bytes_sent += 1
        self._world.pause()

    def has_room(self, nbytes: int, to: str | None = None) -> bool:
        return not self._is_full(to)

    def close(self) -> None:
        if self.is_closed:
            return
        for peer in self._receivers():
            peer.lose(self.me, clean=True)
        self.is_closed = True
        self._bus.topics.pop(self.me, None)

    def check_open(self) -> None:
        self._check_open()

    def behind(self) -> list[str]:
        return [peer.me for peer in self._receivers() if peer.links[self.me]]

    def _receivers(self, to: str | None = None) -> list["SimulatedTopic"]:
        known = [peer for me, peer in self.known.items() if to in (None, me)]
        for peer in known:
            if not peer.is_closed:
                # A connection from a stranger makes the receiver ask who that is.
                peer.hear_of(self)
        return [peer for peer in known if self.me in peer.links and not peer.is_closed]

    def _wait_for_room(self, to: str | None, timeout_s: float, on_block: Any) -> None:
        deadline = self._world.now + timeout_s
        while self._is_full(to):
            on_block()
            self._world.wait(lambda: not self._is_full(to), 0.02)
            self._check_open()
            if self._world.now > deadline:
                raise StepTimeoutError("Topic: no room.")

    def _is_full(self, to: str | None) -> bool:
        return any(
            len(peer.links[self.me]) >= self._bus.queue_length
            for peer in self._receivers(to)
        )

    def _check_open(self) -> None:
        if self.is_closed:
            raise BusClosedError("Topic: closed.")
