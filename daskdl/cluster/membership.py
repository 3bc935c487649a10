"""Members of a session, their dealt minibatches, and those still to be trained.

Pure: no dask, no threads, no clock. The driver asks it; tests drive it in microseconds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from daskdl.data.plan import Minibatch


@dataclass(frozen=True)
class LostMember:
    """A member lost in a phase, and the minibatches it left."""

    rank: int
    unfinished: tuple[Minibatch, ...]  # to be dealt again
    repeated_examples: int  # of these, how many the dead member may have trained

    @property
    def redealt_examples(self) -> int:
        """Examples that are dealt again."""
        return sum(minibatch.rows for minibatch in self.unfinished)


@dataclass
class _Share:
    minibatches: list[Minibatch]
    trained: int = 0  # by the member's own reports
    seen: dict[int, int] = field(default_factory=dict)  # by each survivor's report
    finished: bool = False

    @property
    def started(self) -> int:
        """Minibatches that are known to be trained, on whichever worker."""
        return min(max(self.trained, *self.seen.values(), 0), len(self.minibatches))


class PhaseLedger:
    """Follow one phase: the minibatches of each member, and how many are trained.

    A minibatch of a dead member counts as trained when **every** survivor took in the
    update or the average that holds it; otherwise it is dealt again.

    Parameters
    ----------
    shares : mapping of rank to sequence of Minibatch
        What each member trains in this phase, in its order.
    """

    def __init__(self, shares: Mapping[int, Sequence[Minibatch]]) -> None:
        self._shares = {rank: _Share([*share]) for rank, share in shares.items()}
        self._lost: set[int] = set()

    @property
    def totals(self) -> dict[int, int]:
        """How many minibatches each member trains that is alive, by rank."""
        return {
            rank: len(share.minibatches)
            for rank, share in self._shares.items()
            if rank not in self._lost
        }

    def give(self, rank: int, minibatches: Iterable[Minibatch]) -> None:
        """Note that a member trains these as well, after the others."""
        self._shares[rank].minibatches += minibatches

    def take_back(self, rank: int, position: int) -> tuple[Minibatch, ...]:
        """Note that a member trains those before `position` only; return the others."""
        minibatches = self._shares[rank].minibatches
        rest = tuple(minibatches[position:])
        del minibatches[position:]
        return rest

    @property
    def waiting_for(self) -> frozenset[int]:
        """Members that are alive and have not finished the phase."""
        return frozenset(
            rank
            for rank, share in self._shares.items()
            if rank not in self._lost and not share.finished
        )

    @property
    def trained_examples(self) -> int:
        """Examples known to be trained, by a member's own reports or its peers'."""
        return sum(
            sum(minibatch.rows for minibatch in share.minibatches[: share.started])
            for share in self._shares.values()
        )

    @property
    def trained_minibatches(self) -> int:
        """Minibatches known to be trained, by a member's own reports or its peers'."""
        return sum(share.started for share in self._shares.values())

    @property
    def trained(self) -> tuple[int, int]:
        """Both: examples, and minibatches."""
        return self.trained_examples, self.trained_minibatches

    def progress(self, rank: int, trained: int) -> None:
        """Note that member `rank` has trained its first `trained` minibatches."""
        share = self._shares[rank]
        share.trained = max(share.trained, trained)

    def finished(self, rank: int, positions: Mapping[int, int]) -> None:
        """Note that `rank` finished, having taken in `positions` of each peer."""
        self._shares[rank].finished = True
        self.progress(rank, len(self._shares[rank].minibatches))
        for peer, position in positions.items():
            if peer in self._shares:
                self._shares[peer].seen[rank] = position

    def lost(self, rank: int) -> None:
        """Note that member `rank` is gone."""
        if rank in self._shares:
            self._lost.add(rank)

    def lost_members(self) -> list[LostMember]:
        """Return the lost members and their unfinished minibatches, in rank order."""
        return [self._lost_member(rank) for rank in sorted(self._lost)]

    def _lost_member(self, rank: int) -> LostMember:
        share = self._shares[rank]
        survivors = self._shares.keys() - self._lost
        seen = [share.seen.get(survivor, 0) for survivor in survivors] or [0]
        held = min(seen)
        repeated = share.minibatches[held : share.started]
        return LostMember(
            rank,
            tuple(share.minibatches[held:]),
            sum(minibatch.rows for minibatch in repeated),
        )


def deal_again(
    lost_members: Iterable[LostMember], ranks: Sequence[int]
) -> dict[int, tuple[Minibatch, ...]]:
    """Deal the unfinished minibatches of dead members to the survivors, in turn."""
    unfinished = [minibatch for lost in lost_members for minibatch in lost.unfinished]
    return {
        rank: tuple(unfinished[place :: len(ranks)]) for place, rank in enumerate(ranks)
    }


def deal_leftover(
    rest: Mapping[int, Sequence[Minibatch]], ranks: Collection[int]
) -> dict[int, tuple[Minibatch, ...]]:
    """Deal again what a phase left that was cut short.

    Members keep the beginning of what they had; those that have less than others, as
    who has just come, get the ends.

    Parameters
    ----------
    rest : mapping of int to sequence of Minibatch
        What members had not begun, by rank, also of members that are gone.
    ranks : collection of int
        Who is to train it.
    """
    n_all = sum(len(share) for share in rest.values())
    each, extra = divmod(n_all, len(ranks))
    sizes = {rank: each + (n < extra) for n, rank in enumerate(sorted(ranks))}
    kept = {rank: list(rest.get(rank, ())[: sizes[rank]]) for rank in ranks}
    over = [
        minibatch
        for rank, share in sorted(rest.items())
        for minibatch in share[len(kept.get(rank, ())) :]
    ]
    for rank, share in sorted(kept.items()):
        missing = sizes[rank] - len(share)
        share += over[:missing]
        del over[:missing]
    return {rank: tuple(share) for rank, share in kept.items()}
