"""What orders carry to a member: the partitions that it was not given before."""

from collections.abc import Sequence
from typing import TypeAlias

from daskdl.cluster.session_member import SessionMember
from daskdl.data.plan import Minibatch
from daskdl.data.sources.memory_rows import gathered, is_part_of_memory
from daskdl.data.sources.partition import Partition

__all__ = ["Carried", "CarriedPartitions"]

Carried: TypeAlias = tuple[tuple[Minibatch, ...], dict[int, Partition]]
"""Minibatches as a member is to read them, and the partitions that come with them."""


class CarriedPartitions:
    """Note what members were given.

    Stored data are told by partitions, which are small. Of data in memory a member gets
    the rows that it trains, when it trains them first.

    Parameters
    ----------
    partitions : sequence of Partition
        As the plan numbers them.
    """

    def __init__(self, partitions: Sequence[Partition]) -> None:
        self._partitions = partitions
        self._next = len(partitions)

    def to_send(self, member: SessionMember, share: Sequence[Minibatch]) -> Carried:
        """Return a share, and what a member needs for it that it does not have.

        Parameters
        ----------
        member : SessionMember
            What it gets is noted there.
        share : sequence of Minibatch
        """
        fresh = [
            minibatch
            for minibatch in share
            if minibatch.index not in member.gathered
            and is_part_of_memory(self._partitions, minibatch)
        ]
        new, placed = gathered(self._partitions, fresh, self._next)
        self._next += len(new)
        member.gathered.update({one.index: one for one in placed})
        minibatches = tuple(member.gathered.get(one.index, one) for one in share)
        needed = {piece.partition for one in minibatches for piece in one.pieces}
        new |= {
            number: self._partitions[number]
            for number in needed - member.partitions - new.keys()
        }
        member.partitions |= needed
        return minibatches, new
