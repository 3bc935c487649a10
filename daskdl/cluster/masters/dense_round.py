"""Rounds in which all members that are left end with the same sum, whoever dies when.

Pure: a message comes in, messages go out; sending and waiting are the session's.

A round begins with those members that are not known to be gone: a *view*. Members of a
view add up (:class:`DenseSum`). Who has a total tells the others, and takes it when all
of the view have told the same: so nobody has taken what another lacks. Who hears that a
member is gone goes on in the view without it, and tells which total it holds, if any.
If all hold one, they take that, else none of them has taken any, and they add up anew.
See design 0036.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.dense_sum import (
    Combine,
    Contribution,
    DenseSum,
    Message,
    Total,
)
from daskdl.errors import StaleMessageError

View: TypeAlias = tuple[int, ...]
"""Ranks, sorted."""


@dataclass(frozen=True)
class RoundMessage:
    """A message as it travels.

    Attributes
    ----------
    key : tuple of (int, int)
        Phase and round; increases only.
    view : tuple of int
        The members for which it is meant.
    message : Message
        What is told.
    holds : tuple of int or None
        With a contribution, the view whose total the sender holds.
    """

    key: tuple[int, int]
    view: View
    message: Message
    holds: View | None = None

    @property
    def is_brief(self) -> bool:
        """Whether it is used as soon as it is taken, before another one may come.

        As with two members, of whom each waits for what the other one brings.
        """
        return len(self.view) == 2


class DenseRound:
    """One round of one member.

    Parameters
    ----------
    key : tuple of (int, int)
        Phase and round.
    rank : int
        Ours.
    members : iterable of int
        All that are not known to be gone, ourselves included.
    own : Contribution
        What we bring.
    vectors : sequence of ndarray of shape (n,)
        The vectors; they must stay as they are until the round is over.
    combine : Combine
        What they come to.
    overwrites : bool
        Whether vectors may be overwritten by what they come to, where nobody needs
        them any more.

    Attributes
    ----------
    total : Total or None
        What all take; None until it is certain.
    """

    def __init__(
        self,
        key: tuple[int, int],
        rank: int,
        members: Iterable[int],
        own: Contribution,
        vectors: Sequence[FloatArray],
        combine: Combine,
        *,
        overwrites: bool = False,
    ) -> None:
        self.key = key
        self.total: Total | None = None
        self._rank = rank
        self._brought = (own, vectors, combine)
        self._overwrites = overwrites
        self._outgoing: deque[tuple[RoundMessage, int | None]] = deque()
        self._of_other_views: list[tuple[int, RoundMessage]] = []
        self._held: tuple[View, Total] | None = None
        self._enter(tuple(sorted(members)))

    @property
    def waiting_for(self) -> frozenset[int]:
        """Members without which it cannot go on; none when the total is certain."""
        if self.total is not None:
            return frozenset()
        silent = frozenset(self._view) - self._holds.keys()
        missing = silent or self._sum.waiting_for
        return missing or frozenset(self._view) - self._complete

    @property
    def step(self) -> int:
        """How far we have got: who waits for others that wait themselves is further."""
        if frozenset(self._view) - self._holds.keys():
            return 0
        return 1 if self._sum.waiting_for else 2

    @property
    def has_messages(self) -> bool:
        """Whether something is to be sent, as it may be when the total is certain."""
        return bool(self._outgoing)

    @property
    def upcoming(self) -> tuple[RoundMessage, int | None]:
        """What :meth:`next_message` returns next; there must be one."""
        return self._outgoing[0]

    def next_message(self) -> tuple[RoundMessage, int | None]:
        """Return the next message to send, and to whom; None for all."""
        return self._outgoing.popleft()

    def receive(self, rank: int, message: RoundMessage) -> None:
        """Take a message in, of any round and view."""
        if self.total is not None or message.key < self.key:
            return
        if message.key > self.key:
            # It has taken this round: with what we hold, as all of a view held it.
            if self._held is not None and rank in self._view:
                self.total = self._held[1]
        elif message.view == self._view:
            self._take_in(rank, message)
            self._go_on()
        else:
            self._of_other_views.append((rank, message))

    def left(self, rank: int) -> None:
        """Go on without a member."""
        if self.total is None and rank in self._view:
            self._enter(tuple(other for other in self._view if other != rank))

    def _enter(self, view: View) -> None:
        """Begin in a view; what was to be sent in the last one has no use any more."""
        self._outgoing.clear()
        self._view = view
        self._sum = DenseSum(self._rank, view, *self._brought)
        self._holds: dict[int, View | None] = {self._rank: self._held_view}
        self._complete: set[int] = set()
        self._brings = self._held is None
        brought = self._sum.contribution(with_vectors=self._brings)
        self._send(brought, holds=self._held_view)
        if self._brings:
            self._bring()
        others, self._of_other_views = self._of_other_views, []
        for rank, message in others:
            self.receive(rank, message)
        self._go_on()

    @property
    def _held_view(self) -> View | None:
        return None if self._held is None else self._held[0]

    def _take_in(self, rank: int, message: RoundMessage) -> None:
        told = message.message
        if told.what == "complete":
            self._complete.add(rank)
            return
        if told.what == "contribution":
            self._holds.setdefault(rank, message.holds)
        self._sum.receive(rank, told)

    def _go_on(self) -> None:
        """Do all that what has come allows."""
        if self.total is not None or self._holds.keys() != set(self._view):
            return
        if self._held is not None and not self._brings:
            if set(self._holds.values()) == {self._held[0]}:
                self.total = self._held[1]
                return
            # Nobody can have taken it, as somebody here lacks it.
            self._brings, self._held = True, None
            self._send(self._sum.contribution(with_vectors=True))
            self._bring()
        if self._overwrites and len(self._view) == 2 and not self._outgoing:
            # Added up at once, and over: if the other one is gone we take it, too.
            self._sum.overwrite()
        for message in self._sum.add_up():
            self._send(message)
        if self._sum.is_complete and self._rank not in self._complete:
            self._hold()
        if self._complete >= set(self._view):
            self.total = self._sum.total

    def _hold(self) -> None:
        self._held = (self._view, self._sum.total)
        self._complete.add(self._rank)
        if len(self._view) > 2:
            self._send(Message("complete"))
        else:
            # The other one has what we brought, or is the only one that lacks it.
            self._complete |= set(self._view)

    def _bring(self) -> None:
        for message in self._sum.bring():
            self._send(message)

    def _send(self, message: Message, holds: View | None = None) -> None:
        if len(self._view) == 1:
            return
        told = RoundMessage(self.key, self._view, message, holds)
        self._outgoing.append((told, message.to))


class RoundSequence:
    """The rounds of one member, and messages that come before it has begun theirs.

    Parameters
    ----------
    rank : int
        Ours.

    Attributes
    ----------
    current : DenseRound or None
        The round that has begun and was not taken.
    """

    def __init__(self, rank: int) -> None:
        self.current: DenseRound | None = None
        self._rank = rank
        self._members: set[int] = {rank}
        self._next = (-1, 0)
        # Who had minibatches left, as far as we know.
        self._training: set[int] = set()
        self._early: list[tuple[int, RoundMessage]] = []

    @property
    def is_alone(self) -> bool:
        """Whether no peer is left."""
        return len(self._members) == 1

    def begin(self, phase: int, peers: Iterable[int]) -> None:
        """Begin a phase with those that are not known to be gone."""
        self.current = None
        self._members = {self._rank, *peers}
        self._training = set(peers)
        self._next = (phase, 0)

    @property
    def is_awaited(self) -> bool:
        """Whether a peer has begun the next round, or will as it has minibatches."""
        begun = any(message.key == self._next for _, message in self._early)
        return begun or bool(self._training & self._members)

    def start(
        self,
        own: Contribution,
        vectors: Sequence[FloatArray],
        combine: Combine,
        *,
        overwrites: bool = False,
    ) -> DenseRound:
        """Begin the next round; see :class:`DenseRound`."""
        current = DenseRound(
            self._next,
            self._rank,
            self._members,
            own,
            vectors,
            combine,
            overwrites=overwrites,
        )
        self.current = current
        self._next = (self._next[0], self._next[1] + 1)
        # What belongs to rounds of the past would hold its vectors for ever.
        due = [entry for entry in self._early if entry[1].key == current.key]
        self._early = [entry for entry in self._early if entry[1].key > current.key]
        for rank, message in due:
            current.receive(rank, message)
        return current

    @property
    def started(self) -> DenseRound:
        """The round that has begun, of which there must be one."""
        if self.current is None:
            raise StaleMessageError("RoundSequence: a round must have begun, none has.")
        return self.current

    def take(self) -> Total:
        """Return what the round came to, which must be over, and close it."""
        total = self.started.total
        if total is None:
            raise StaleMessageError("RoundSequence: the round must be over, it is not.")
        self.current = None
        told = total.contributions.items()
        self._training = {rank for rank, item in told if item.remaining} - {self._rank}
        return total

    def over(self) -> RoundMessage | None:
        """Return the last message of a phase; None if nobody is left to hear it.

        Who still waits for somebody that is gone hears that we have taken the round.
        """
        if self.is_alone:
            return None
        return RoundMessage(self._next, (), Message("over"))

    def receive(self, rank: int, message: RoundMessage) -> None:
        """Take a message in, or keep it until its round begins."""
        if self.current is not None:
            self.current.receive(rank, message)
        if message.key >= self._next and message.message.what != "over":
            self._early.append((rank, message))

    def left(self, rank: int) -> None:
        """Go on without a member."""
        self._members.discard(rank)
        if self.current is not None:
            self.current.left(rank)
