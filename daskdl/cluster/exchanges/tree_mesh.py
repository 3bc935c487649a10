"""Gradient sharing over a tree of members, on a topic."""

from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from daskdl.cluster.exchanges.dense_rounds import DenseRounds
from daskdl.cluster.exchanges.mesh import Mesh, Publish, Wait
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.shared_update import SharedUpdate
from daskdl.cluster.masters.tree_member import TreeMember
from daskdl.cluster.masters.tree_messages import InPhase, Mark, Marks, TreeMessage
from daskdl.cluster.masters.tree_replica import TreeReplica

_NONE = Mark()


class TreeMesh(Mesh):
    """Members send sums to their neighbours in a tree; see `TreeMember`.

    A phase ends with a round of all, which averages running statistics: whoever takes
    it knows that all others have ended and need no answers any more.

    Parameters
    ----------
    peer : GradientSharingPeer
        In the phase.
    publish, wait : Publish, Wait
        Those of the exchange.
    behind : callable
        Returns the ranks that take nothing of what we sent.
    rounds : DenseRounds
        Of the phase.
    phase, rank : int
        The phase, and our own rank.
    members : frozenset of int
        The ranks of all that were ordered to take part, as all know them.
    fan_out, hosts
        See :class:`~daskdl.cluster.masters.tree.Tree`.
    """

    def __init__(
        self,
        peer: GradientSharingPeer,
        publish: Publish,
        wait: Wait,
        behind: Callable[[], list[int]],
        rounds: DenseRounds,
        *,
        phase: int,
        rank: int,
        members: frozenset[int],
        fan_out: int,
        hosts: Mapping[int, str],
    ) -> None:
        self._rank = rank
        self._phase = phase
        self._members = members
        self._peer = peer
        self._rounds = rounds
        self._publish = publish
        self._wait = wait
        self._behind = behind
        self._outgoing: deque[tuple[int, TreeMessage]] = deque()
        self._is_sending = False
        self._noted: Marks = {}
        self._member = TreeMember(
            rank,
            self._members,
            TreeReplica(peer),
            lambda target, message: self._outgoing.append((target, message)),
            fan_out,
            hosts,
        )

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer that are in the base; the same for all survivors."""
        marks = self._member.marks
        return {
            rank: marks.get(rank, _NONE).position
            for rank in self._members - {self._rank}
        }

    def tell(self, message: SharedUpdate) -> None:
        """Send an own message up."""
        self._member.tell(
            None if message.data is None else (np.asarray(message.data),),
            position=message.position,
            ends=message.ends,
            step_s=message.step_s,
        )
        self._note_marks()
        self.answer()

    def end(self, last: SharedUpdate) -> None:
        """Send our last message, and answer others until all have ended the phase."""
        self.tell(last)
        self._wait("end", lambda: self.silent(self._member.awaited), lambda: self.step)
        statistics = np.zeros(0) if last.statistics is None else last.statistics
        own = Contribution(position=last.position, examples=last.position)
        total = self._rounds.take("end", own, [statistics], weighted_mean)
        self._rounds.end()
        for mean in total.vectors or ():
            self._peer.take_statistics(mean)

    def receive(self, rank: int, message: TreeMessage) -> None:
        """Take in a message of a neighbour, or of who looks for a new one."""
        self._member.receive(rank, message)
        self._note_marks()

    def left(self, rank: int) -> None:
        """Go on without a member."""
        self._member.left([rank])
        self._note_marks()

    def pass_on(self) -> None:
        """Pass on what waits for more, and is waited for."""
        self._member.pass_on()
        self._note_marks()

    def answer(self) -> None:
        """Send what is due, one message after the other.

        Whoever waits for room takes messages in meanwhile, whose answers come behind.
        """
        if self._is_sending:
            return
        self._is_sending = True
        try:
            while self._outgoing:
                target, message = self._outgoing.popleft()
                # Its arrays were made for it, or nobody writes them.
                told = InPhase(self._phase, message)
                self._publish(told, to=target, copy=False, is_whole=True)
        finally:
            self._is_sending = False

    def silent(self, missing: frozenset[int]) -> frozenset[int]:
        """Return who takes nothing from us, or else who is at fault in the tree.

        What is missing may be stuck between any two members; the first is certain.
        """
        return missing and (self._takes_nothing or self._member.at_fault(missing))

    @property
    def step(self) -> int:
        """How far we have got: not as far as others if it is certain who is silent."""
        return 0 if self._takes_nothing else 1

    @property
    def _takes_nothing(self) -> frozenset[int]:
        return self._members.intersection(self._behind())

    def _note_marks(self) -> None:
        """Tell the peer how far the others are."""
        before, self._noted = self._noted, self._member.marks
        if self._noted is before:
            return
        ways = self._member.slowest_ways()
        for rank, mark in self._noted.items():
            known = before.get(rank, _NONE)
            if rank != self._rank and mark.messages > known.messages:
                self._peer.note(
                    rank,
                    mark.position,
                    ends=mark.ends,
                    step_s=ways.get(rank, 0.0),
                    has_update=mark.position > known.position,
                )
