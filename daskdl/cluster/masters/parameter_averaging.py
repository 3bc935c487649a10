"""Parameter averaging: the rounds in which workers average their snapshots.

Pure: a message comes in, effects go out; sending and waiting are the session's.
"""

from dataclasses import dataclass
from typing import Any

from daskdl.arrays.namespace import FloatArray


@dataclass(frozen=True, kw_only=True)
class RoundSnapshot:
    """The snapshot of a worker for one round of averaging.

    Attributes
    ----------
    phase, round : int
        Which round; both increase only.
    position : int
        How many minibatches of the phase the sender has trained.
    remaining : int
        How many it still has to train in this phase.
    examples : int
        Examples trained since the last round: the weight of this snapshot.
    iteration_count : int
        The sender's iteration counter.
    params, updater_state : ndarray of shape (n,), (m,)
        The flat vectors; the state is empty when it is not averaged.
    """

    phase: int
    round: int
    position: int
    remaining: int
    examples: int
    iteration_count: int
    params: Any
    updater_state: Any

    def to_wire(self) -> dict[str, Any]:
        """Return the snapshot as plain values and two arrays."""
        return dict(self.__dict__)


class AveragingRound:
    """One round: collect a snapshot of every member that is alive, then average.

    Parameters
    ----------
    rank : int
        Our own rank.
    peers : frozenset of int
        The other members.
    own : RoundSnapshot
        What we bring.
    """

    def __init__(self, rank: int, peers: frozenset[int], own: RoundSnapshot) -> None:
        self._peers = set(peers)
        self._own = own
        self._snapshots = {rank: own}

    @property
    def is_complete(self) -> bool:
        """Whether every peer that is alive has sent its snapshot."""
        return not self.waiting_for

    @property
    def waiting_for(self) -> frozenset[int]:
        """Peers whose snapshot has not come."""
        return frozenset(self._peers - self._snapshots.keys())

    @property
    def remaining(self) -> dict[int, int]:
        """Minibatches that each peer that is alive still has to train."""
        return {
            rank: item.remaining
            for rank, item in self._snapshots.items()
            if rank in self._peers
        }

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches that each member had trained at its snapshot."""
        return {rank: item.position for rank, item in self._snapshots.items()}

    @property
    def iteration_count(self) -> int:
        """The furthest iteration counter, which all go on with."""
        return max(item.iteration_count for item in self._snapshots.values())

    def accepts(self, snapshot: RoundSnapshot) -> bool:
        """Whether `snapshot` belongs to this round and not to an older one."""
        key = (snapshot.phase, snapshot.round)
        return key == (self._own.phase, self._own.round)

    def receive(self, rank: int, snapshot: RoundSnapshot) -> None:
        """Take a peer's snapshot in; a second one of the same peer changes nothing."""
        self._snapshots.setdefault(rank, snapshot)

    def left(self, rank: int) -> None:
        """Go on without a peer; a snapshot that it sent in time still counts."""
        self._peers.discard(rank)

    def average_into(self, params: FloatArray, updater_state: FloatArray) -> None:
        """Overwrite both vectors with the means of all snapshots.

        Parameters
        ----------
        params, updater_state : ndarray of shape (n_params,), (n_state,)
            Overwritten.

        Notes
        -----
        Weighted by examples and summed in rank order, so that every member computes
        the same bits. Alone, or when nobody trained, nothing changes.
        """
        total = sum(item.examples for item in self._snapshots.values())
        if len(self._snapshots) == 1 or total == 0:
            return
        ranks = sorted(self._snapshots)
        _mean(params, [self._snapshots[r].params for r in ranks], self._weights(ranks))
        if self._own.updater_state.size:
            states = [self._snapshots[rank].updater_state for rank in ranks]
            _mean(updater_state, states, self._weights(ranks))

    def _weights(self, ranks: list[int]) -> list[float]:
        total = sum(item.examples for item in self._snapshots.values())
        return [self._snapshots[rank].examples / total for rank in ranks]


def _mean(target: FloatArray, vectors: list[Any], weights: list[float]) -> None:
    mean = vectors[0] * target.dtype.type(weights[0])
    for vector, weight in zip(vectors[1:], weights[1:], strict=True):
        mean += vector * target.dtype.type(weight)
    target[...] = mean
