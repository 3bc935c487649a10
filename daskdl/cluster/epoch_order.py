"""Which minibatches of an epoch each member trains, and where a run stands in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from daskdl.cluster.homes import deal_at_home
from daskdl.data.plan import Minibatch, deal_rest
from daskdl.data.room import Room
from daskdl.nn.fitting.preparation import PreparedData
from daskdl.nn.fitting.run_state import RunPosition

Shares: TypeAlias = Mapping[int, Sequence[Minibatch]]
"""The minibatches of each member by rank, in the order in which it trains them."""


@dataclass(frozen=True, kw_only=True)
class EpochOrder:
    """The order of the minibatches of one epoch.

    Parameters
    ----------
    data, epoch, shuffled, seed, room
        See :meth:`PreparedData.epoch`.
    homes : mapping of int to int, optional
        Deals whole partitions, each to where it lies; see
        :func:`~daskdl.cluster.homes.deal_at_home`. Equal shares if not given.
    """

    data: PreparedData
    epoch: int
    shuffled: bool
    seed: int
    room: Room
    homes: Mapping[int, int] | None = None

    def deal(self, after: RunPosition, ranks: Sequence[int]) -> Shares:
        """Deal the minibatches, or those behind a position in the epoch.

        Parameters
        ----------
        after : RunPosition
            What was trained before.
        ranks : sequence of int
            Of those that train.
        """
        if self.homes is not None and not after.left:
            (whole,) = self._whole(1)
            return deal_at_home(whole, self.homes, ranks)
        if after.left:
            numbered = {
                minibatch.index: minibatch for minibatch in self.data.minibatches
            }
            shares: Sequence[Sequence[Minibatch]] = [
                [numbered[number] for number in part] for part in after.left
            ]
            positions: Sequence[int] = [0] * len(shares)
        else:
            positions = after.positions or [0] * len(ranks)
            shares = self._whole(len(positions))
        interleaved = self.data.source.in_memory
        blocks = deal_rest(shares, positions, len(ranks), interleaved=interleaved)
        return dict(zip(ranks, blocks, strict=True))

    def position(self, epochs: int, left: Shares) -> RunPosition:
        """Return where a run stands.

        Parameters
        ----------
        epochs : int
            Of the run that are whole.
        left : mapping of int to sequence of Minibatch
            What each member is yet to train, by rank.
        """
        parts = [list(left[rank]) for rank in sorted(left)]
        whole = self._whole(len(parts))
        pairs = list(zip(whole, parts, strict=True))
        positions = tuple(max(0, len(share) - len(part)) for share, part in pairs)
        # Work moves between members, and is dealt again when some come or go.
        is_as_dealt = all(
            list(share[at:]) == part
            for (share, part), at in zip(pairs, positions, strict=True)
        )
        numbers = tuple(tuple(one.index for one in part) for part in parts)
        return RunPosition(
            epoch=epochs,
            positions=positions,
            room=self.room,
            # Where partitions lie may be another place then.
            left=() if is_as_dealt and self.homes is None else numbers,
        )

    def _whole(self, n_members: int) -> Sequence[Sequence[Minibatch]]:
        return self.data.epoch(
            self.epoch,
            n_members,
            shuffled=self.shuffled,
            seed=self.seed,
            room=self.room,
        )
