"""Gradient sharing over a tree: every update reaches everybody, each exactly once.

Pure: a message comes in, messages go out. Sums go up to the root, which numbers what it
makes of them; that goes down as it is, so that all members take in the same sums in the
same order. Nothing is lost with a member that is gone: who made or gathered updates
keeps them until they have come down. See design 0038.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from daskdl.cluster.masters.tree import FAN_OUT, Tree
from daskdl.cluster.masters.tree_messages import (
    Gathered,
    Mark,
    Marks,
    Passed,
    Replica,
    Standing,
    TreeMessage,
    Whole,
    joined,
)

_NONE = Mark()
Send = Callable[[int, TreeMessage], None]


class TreeMember:
    """The state of one member in one phase.

    Parameters
    ----------
    rank : int
        Our own.
    members : iterable of int
        The ranks of all members, ours included.
    replica : Replica
        What takes updates in.
    send : callable
        Gets a rank and a message for it. Messages for one member must arrive in their
        order, and before the news that their sender is gone.
    fan_out, hosts
        See :class:`~daskdl.cluster.masters.tree.Tree`.

    Notes
    -----
    A member must go on to answer when its phase :attr:`is_over`, until every other that
    is alive has ended it: it may be the only one that has the end.
    """

    def __init__(
        self,
        rank: int,
        members: Iterable[int],
        replica: Replica,
        send: Send,
        fan_out: int = FAN_OUT,
        hosts: Mapping[int, str] | None = None,
    ) -> None:
        self._rank = rank
        self._replica = replica
        self._send = send
        self._tree = Tree(members, fan_out, hosts)
        self._told = _NONE
        self._own: list[tuple[int, Any]] = []  # updates that are not in the base
        self._taken: dict[int, Mark] = {}  # of those below us, and of ourselves
        self._gathered: list[Gathered] = []  # not passed up yet
        self._waiting: set[int] = set()  # whose updates are in it
        self._log: list[Gathered] = []  # passed up, and not in the base yet
        self._early: list[Gathered] = []  # of members whose bases are further
        # The last message from the root that is in the base.
        self._reign = self._tree.reign
        self._number = 0
        self._marks: Marks = {}
        self._is_over = False
        # As a root that does not reign yet:
        self._standings: dict[int, tuple[int, int]] = {}

    @property
    def marks(self) -> Marks:
        """How far each member is whose updates are in the base."""
        return self._marks

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each member that are in the base."""
        return {rank: mark.position for rank, mark in self._marks.items()}

    @property
    def alive(self) -> list[int]:
        """Members that are not known to be gone."""
        return self._tree.alive

    @property
    def is_over(self) -> bool:
        """Whether the phase has ended: all that are alive have the same base then."""
        return self._is_over

    @property
    def awaited(self) -> frozenset[int]:
        """Who has not ended the phase, as far as we know; nobody when it is over."""
        if self._is_over:
            return frozenset()
        others = frozenset(self._tree.alive) - {self._rank}
        if self._is_root and not self._reigns:
            # With all standings, the base of the furthest is still on its way.
            return others - self._standings.keys() or self._further
        missing = frozenset(rank for rank in others if not self._taken_of(rank).ends)
        return missing or others

    def at_fault(self, missing: frozenset[int]) -> frozenset[int]:
        """Return who keeps `missing` from us, as far as we see.

        Neighbours through whom they would come, if they are missing themselves: whoever
        is behind them may be waiting for them, too.
        """
        near = {self._tree.neighbour(self._rank, rank) for rank in missing}
        return missing & near or missing

    def slowest_ways(self) -> dict[int, float]:
        """Return the longest step, in seconds, of those through whom members reach us.

        Of each other, its own step included: who trains passes nothing on.
        """
        down: dict[int, float] = {}  # from the root
        for rank in self._tree.alive:
            parent = self._tree.parent(rank)
            above = 0.0 if parent is None else down[parent]
            down[rank] = max(above, self._marks.get(rank, _NONE).step_s)
        parent = self._tree.parent(self._rank)
        to_us = 0.0 if parent is None else down[parent]
        return {
            rank: max(way, to_us) for rank, way in down.items() if rank != self._rank
        }

    def tell(
        self, update: Any, *, position: int, ends: bool = False, step_s: float = 0.0
    ) -> None:
        """Send an own update on its way; the parameters have lost it already.

        A member that has others below waits for those that are behind, and adds theirs;
        but nobody's update waits here until its next one comes.

        Parameters
        ----------
        update : object or None
            Of a form that the replica knows; None when there is only a position.
        position : int
            Minibatches trained in this phase.
        ends : bool
            Whether this is our last one of the phase.
        step_s : float
            Seconds that we take for a minibatch.
        """
        before = {self._rank: self._told.messages}
        number = self._told.messages + 1
        self._told = Mark(messages=number, position=position, ends=ends, step_s=step_s)
        if update is not None:
            self._own.append((number, update))
        marks = {self._rank: self._told}
        self._gather(Gathered(before=before, marks=marks, update=update))

    def receive(self, sender: int, message: TreeMessage) -> None:
        """Take in a message of another member; those of who is gone are ignored."""
        if sender in self._tree.gone:
            return
        if isinstance(message, Gathered):
            self._receive_gathered(message)
        elif isinstance(message, Passed):
            self._receive_passed(message)
        elif isinstance(message, Whole):
            self._receive_whole(message)
        else:
            self._receive_standing(sender, message)

    def left(self, ranks: Iterable[int]) -> None:
        """Go on without members that are gone."""
        ranks = set(ranks) - self._tree.gone
        if not ranks:
            return
        parent, root = self._tree.parent(self._rank), self._tree.root
        self._tree.lose(ranks)
        for rank in ranks:
            self._standings.pop(rank, None)
        has_new_root = self._tree.root != root
        if self._is_root:
            self._try_to_reign()
        elif has_new_root:
            self._stand_before(self._tree.root)
        # A new root gets the log once it reigns.
        now = self._tree.parent(self._rank)
        if now != parent and not (has_new_root and now == self._tree.root):
            self._join_parent()
        self._pass_on_if_due()

    def pass_on(self) -> None:
        """Send what was gathered to the parent or, as the root, down to everybody.

        For members that have nothing to tell for a while: those that are to hear of it
        may be waiting.
        """
        if self._is_root:
            self._decree()
        elif self._gathered:
            self._pass_up(joined(self._taken_up(), self._replica))

    # What comes from below.

    def _receive_gathered(self, message: Gathered) -> None:
        """Take in what follows on what we have.

        What was sent again and had come before does not. Who sent it took messages as a
        whole, and so did we: all members in it fit, or none does. What lies between is
        in the base of the sender, and will be in ours.
        """
        if self._is_root and not self._reigns:
            return
        ours = {rank: self._taken_of(rank).messages for rank in message.before}
        if any(before > ours[rank] for rank, before in message.before.items()):
            self._early.append(message)
        elif ours == message.before:
            self._gather(message)

    def _receive_early(self) -> None:
        early, self._early = self._early, []
        for message in early:
            self._receive_gathered(message)

    def _gather(self, message: Gathered) -> None:
        if message.is_again and not self._is_root:
            # As it is: somebody above may have it, and lack what it were joined with.
            self._taken.update(message.marks)
            self.pass_on()
            self._pass_up(message)
            return
        has_waited = not self._waiting.isdisjoint(message.marks)
        self._gathered.append(message)
        self._waiting.update(message.marks)
        self._taken.update(message.marks)
        if has_waited:
            self.pass_on()
        else:
            self._pass_on_if_due()

    def _taken_up(self) -> list[Gathered]:
        gathered, self._gathered = self._gathered, []
        self._waiting.clear()
        return gathered

    def _pass_on_if_due(self) -> None:
        below = self._tree.below(self._rank)
        if self._told.ends:
            is_due = all(r in self._waiting or self._taken_of(r).ends for r in below)
        else:
            is_due = self._rank in self._waiting and all(map(self._is_here, below))
        if is_due:
            self.pass_on()

    def _is_here(self, rank: int) -> bool:
        """Whether a member below us is as far as we are, or has ended."""
        mark = self._taken_of(rank)
        return mark.ends or mark.position >= self._told.position

    def _taken_of(self, rank: int) -> Mark:
        taken = self._taken.get(rank, _NONE)
        known = self._marks.get(rank, _NONE)
        return max(taken, known, key=lambda mark: mark.messages)

    def _pass_up(self, message: Gathered) -> None:
        self._log.append(message)
        self._send_up(message)

    def _send_up(self, message: Gathered) -> None:
        parent = self._tree.parent(self._rank)
        if parent is not None:
            self._send(parent, message)

    # What comes from above.

    def _receive_passed(self, message: Passed) -> None:
        """Take in the next message of the root; after a gap the base is on its way."""
        is_next = (message.reign, message.number) == (self._reign, self._number + 1)
        if is_next and not self._awaits_reign:
            self._take_in(message)
            self._receive_early()

    def _take_in(self, message: Passed) -> None:
        own = self._advance_to(message)
        if message.update is not None:
            self._replica.take_in(message.update, own)
        self._send_down(message)

    def _advance_to(self, message: Passed | Whole) -> list[Any]:
        """Note what is in the base now; return own updates that were not before."""
        self._reign, self._number = message.reign, message.number
        self._marks, self._is_over = message.marks, message.is_last
        known = self._marks.get(self._rank, _NONE).messages
        own = [update for number, update in self._own if number <= known]
        self._own = self._own[len(own) :]
        self._log = [item for item in self._log if not self._is_known(item)]
        return own

    def _is_known(self, item: Gathered) -> bool:
        # Whole messages go up: one member stands for all.
        rank, before = next(iter(item.before.items()))
        return self._marks.get(rank, _NONE).messages > before

    def _send_down(self, message: Passed | Whole) -> None:
        for child in self._tree.children(self._rank):
            self._send(child, message)

    def _receive_whole(self, message: Whole) -> None:
        is_news = (message.reign, message.number) > (self._reign, self._number)
        # Whoever told a new root where it stands must stay there.
        if not is_news or (self._awaits_reign and message.reign < self._awaited_reign):
            return
        has_new_root = message.reign != self._reign
        self._advance_to(message)
        self._replica.replace_base(message.base, [update for _, update in self._own])
        if self._is_root:
            self._try_to_reign()
            return
        self._send_down(message)
        if has_new_root and self._tree.parent(self._rank) == self._tree.root:
            self._send_log()
        self._receive_early()

    # Members that are gone.

    @property
    def _is_root(self) -> bool:
        return self._tree.root == self._rank

    @property
    def _reigns(self) -> bool:
        return self._is_root and not self._awaits_reign

    @property
    def _awaits_reign(self) -> bool:
        return self._reign != self._tree.reign

    @property
    def _awaited_reign(self) -> int:
        """Of which reign we wait for a base; as a new root, of any."""
        return -1 if self._is_root else self._tree.reign

    @property
    def _further(self) -> frozenset[int]:
        """Members whose bases are further than ours, as they told a new root."""
        ours = (self._reign, self._number)
        return frozenset(r for r, theirs in self._standings.items() if theirs > ours)

    def _stand_before(self, rank: int) -> None:
        self._send(
            rank,
            Standing(
                reign=self._reign,
                number=self._number,
                root=self._tree.root,
                gone=self._tree.gone,
            ),
        )

    def _join_parent(self) -> None:
        """Tell a new parent where we stand, and what it may lack of ours."""
        parent = self._tree.parent(self._rank)
        if parent is not None:
            self._stand_before(parent)
            self._send_log()

    def _send_log(self) -> None:
        for item in self._log:
            self._send_up(replace(item, is_again=True))

    def _receive_standing(self, sender: int, message: Standing) -> None:
        self.left(message.gone)
        theirs = (message.reign, message.number)
        if message.root == self._rank and not self._reigns:
            self._standings[sender] = theirs
            self._try_to_reign()
        if (self._reign, self._number) > theirs:
            self._send_whole([sender])

    def _send_whole(self, ranks: Iterable[int]) -> None:
        base = self._replica.base([update for _, update in self._own])
        whole = Whole(
            reign=self._reign,
            number=self._number,
            marks=self._marks,
            is_last=self._is_over,
            base=base,
        )
        for rank in ranks:
            self._send(rank, whole)

    def _try_to_reign(self) -> None:
        """As the new root, go on from the base of the member that is furthest.

        It holds all that any member holds: bases grow by the same messages, and who
        stands before us takes in no more of the old root.
        """
        others = set(self._tree.alive) - {self._rank}
        if self._reigns or others - self._standings.keys():
            return
        if further := self._further:
            self._stand_before(max(further, key=self._standings.__getitem__))
            return
        self._reign, self._number = self._tree.reign, 0
        self._gathered = self._log + self._gathered
        self._log = []
        self._waiting = {rank for item in self._gathered for rank in item.marks}
        self._send_whole(self._tree.children(self._rank))
        self._pass_on_if_due()

    def _decree(self) -> None:
        """As the root that reigns, send down what was gathered, with its number."""
        if not self._reigns or self._is_over:
            return
        merged = joined(self._taken_up(), self._replica)
        marks = {**self._marks, **merged.marks}
        is_last = self._told.ends and all(
            marks.get(rank, _NONE).ends for rank in self._tree.alive
        )
        if not merged.marks and not is_last:
            return
        self._take_in(
            Passed(
                reign=self._reign,
                number=self._number + 1,
                marks=marks,
                is_last=is_last,
                update=merged.update,
            )
        )
