"""Gradient sharing as a process on the clock: to all, and over a tree.

What waits for what is that of ``daskdl.cluster.exchanges``; the rules are the real
ones.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from benchmarks.simulation.brains import Brain
from benchmarks.simulation.clock import Steps, Until
from benchmarks.simulation.worker import Worker
from daskdl.cluster.exchanges.gradient_sharing import KEEP_UP_GRADIENTS, KEEP_UP_S
from daskdl.cluster.masters.tree_member import TreeMember
from daskdl.cluster.masters.tree_messages import (
    Gathered,
    Marks,
    Passed,
    Standing,
    Whole,
)

# Phase, position and the like; of the tree, of each member in it.
_HEAD_BYTES = 100
_MARK_BYTES = 8


@dataclass(frozen=True)
class Told:
    """A worker's message to all."""

    position: int
    update: Any
    ends: bool = False
    proposal: Any = None


class SharingWorker(Worker):
    """A worker that shares updates; what it learns is its brain's.

    Parameters
    ----------
    brain : Brain
        Of a network, or a stand-in.
    members : frozenset of int
        Who takes part in the phase.
    shared : tuple
        What :class:`~benchmarks.simulation.worker.Worker` asks for.
    """

    def __init__(self, brain: Brain, members: frozenset[int], *shared: Any) -> None:
        self.brain = brain
        # One set for all workers.
        self._members = members
        self._gone: set[int] = set()
        super().__init__(*shared)
        brain.begin(members - {self.rank})

    @property
    @abstractmethod
    def _is_over(self) -> bool: ...

    @property
    def _is_alone(self) -> bool:
        return len(self._members) - len(self._gone) == 1

    def _peers(self) -> list[int]:
        """Return who is alive, the next rank first: not all send to the same one."""
        alive = self._members - self._gone - {self.rank}
        return sorted(alive, key=lambda rank: (rank < self.rank, rank))

    @abstractmethod
    def _tell(self, update: Any, *, ends: bool) -> Steps:
        """Send an update on its way."""

    @abstractmethod
    def _pass_on(self) -> Steps:
        """Let nothing of others wait while we train."""

    def hear_of_death(self, rank: int) -> None:
        """Go on without another worker."""
        self._gone |= {rank} & self._members
        self.brain.left(rank)
        self._process.wake()

    def _run(self) -> Steps:
        for _ in range(self.n_minibatches):
            began_s = self.clock.now_s
            yield from self._step()
            took_s = self.clock.now_s - began_s
            self.brain.learn()
            yield from self._drain()
            yield from self._agree()
            if not self._is_alone:
                yield self.setting.costs.encode_ms / 1e3
                yield from self._tell(self.brain.share(self.trained), ends=False)
            yield from self._let_peers_keep_up(took_s)
            yield from self._drain()
            yield from self._pass_on()
        if not self._is_alone:
            yield from self._tell(self.brain.end(self.trained), ends=True)
        while not self._is_over:
            yield from self._wait()
        self.brain.conclude(self.trained)

    def _known(self) -> dict[int, int]:
        positions = self.brain.positions
        alive = self._members - self._gone - {self.rank}
        return {
            rank: positions.get(rank, 0)
            for rank in self.tally.compared
            if rank in alive
        }

    def _agree(self) -> Steps:
        """Agree on a first threshold: always among all, once in a fit."""
        proposal = self.brain.propose()
        if proposal is None:
            return
        for peer in self._peers():
            yield from self._send(peer, Told(0, None, proposal=proposal), _HEAD_BYTES)
        while self.brain.undecided:
            yield from self._wait()
        self.brain.agree(proposal)

    def _let_peers_keep_up(self, took_s: float) -> Steps:
        until_s = self.clock.now_s + min(KEEP_UP_GRADIENTS * took_s, KEEP_UP_S)
        while self.brain.is_waited_for(self.trained) and self.clock.now_s < until_s:
            yield from self._wait(until_s)

    def _wait(self, until_s: float = float("inf")) -> Steps:
        """Take in the next messages, or sleep until there is one."""
        if self._inbox:
            yield from self._drain()
        else:
            yield Until(until_s)

    def _take(self, source: int, message: Any) -> None:
        if isinstance(message, Told) and message.proposal is not None:
            self.brain.receive_proposal(source, message.proposal)
        else:
            self._take_update(source, message)

    @abstractmethod
    def _take_update(self, source: int, message: Any) -> None: ...


class PlainWorker(SharingWorker):
    """Sends each update to all others."""

    @property
    def _is_over(self) -> bool:
        return not self.brain.waiting_for

    def _tell(self, update: Any, *, ends: bool) -> Steps:
        message = Told(self.trained, update, ends)
        n_bytes = _HEAD_BYTES + self.brain.n_bytes(update)
        for peer in self._peers():
            yield from self._send(peer, message, n_bytes)

    def _pass_on(self) -> Steps:
        yield from ()

    def _take_update(self, source: int, message: Told) -> None:
        if source not in self._gone:
            self.brain.receive(
                source, message.position, message.update, ends=message.ends
            )


class TreeWorker(SharingWorker):
    """Sends sums up and down a tree: the rule of ``daskdl.cluster.masters``."""

    def __init__(self, brain: Brain, members: frozenset[int], *shared: Any) -> None:
        super().__init__(brain, members, *shared)
        self._outgoing: list[tuple[int, Any]] = []
        self._noted: Marks = {}
        self.member = TreeMember(
            self.rank,
            members,
            brain.replica,
            lambda target, message: self._outgoing.append((target, message)),
            hosts=self.setting.hosts,
        )

    @property
    def _is_over(self) -> bool:
        return self.member.is_over or self._is_alone

    def hear_of_death(self, rank: int) -> None:
        """Go on without another worker."""
        super().hear_of_death(rank)
        self.member.left([rank])
        self._note_marks()
        if self.is_done:
            self._answer_at_once()

    def deliver(self, source: int, message: Any, n_bytes: int) -> None:
        """Put a message into the inbox; who has ended the phase answers at once."""
        if self.is_done and not self.is_dead:
            self._take(source, message)
            self._answer_at_once()
        else:
            super().deliver(source, message, n_bytes)

    def _answer_at_once(self) -> None:
        for target, message in self._taken_outgoing():
            self.lines.send(self.rank, target, message, self._size(message))

    def _tell(self, update: Any, *, ends: bool) -> Steps:
        self.member.tell(update, position=self.trained, ends=ends)
        self._note_marks()
        yield from self._answer()

    def _pass_on(self) -> Steps:
        self.member.pass_on()
        self._note_marks()
        yield from self._answer()

    def _answer(self) -> Steps:
        while self._outgoing:
            for target, message in self._taken_outgoing():
                yield from self._send(target, message, self._size(message))

    def _wait(self, until_s: float = float("inf")) -> Steps:
        # The news of a death ask for answers as well.
        if self._outgoing:
            yield from self._answer()
        else:
            yield from super()._wait(until_s)

    def _take_update(self, source: int, message: Any) -> None:
        self.member.receive(source, message)
        self._note_marks()

    def _note_marks(self) -> None:
        if self.member.marks is not self._noted:
            self._noted = self.member.marks
            self.brain.note(self._noted)

    def _taken_outgoing(self) -> list[tuple[int, Any]]:
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def _size(self, message: Gathered | Passed | Whole | Standing) -> int:
        if isinstance(message, Standing):
            return _HEAD_BYTES
        data = message.base if isinstance(message, Whole) else message.update
        n_data = 0 if data is None else self.brain.n_bytes(data)
        return _HEAD_BYTES + _MARK_BYTES * len(message.marks) + n_data
