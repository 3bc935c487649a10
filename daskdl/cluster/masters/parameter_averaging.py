"""Parameter averaging: the rounds in which workers average their snapshots.

Pure: a message comes in, effects go out; sending and waiting are the session's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskdl.arrays.namespace import FloatArray

# In the first rounds of a phase kernels are compiled, and caches are cold.
UNMEASURED_ROUNDS = 2
SETTLED_AFTER = 5
SMOOTHING = 0.3
# Below that ratio of the slowest to the fastest, all train as many: what a busy machine
# does to equal workers is no difference between them, and equal rounds are repeatable.
UNEVEN = 2.0
# A clock may stand still for a minibatch.
LEAST_S = 1e-6


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
        How many it still has to train in this phase, as far as it knows.
    minibatches : int
        Minibatches trained since the last round.
    seconds : float
        How long that took, without waiting for peers.
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
    minibatches: int
    seconds: float
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
    def efforts(self) -> dict[int, tuple[int, float]]:
        """Minibatches that each member that is alive trained, and in how long."""
        return {
            rank: (item.minibatches, item.seconds)
            for rank, item in self._snapshots.items()
            if rank in self._peers or item is self._own
        }

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


class RoundSizes:
    """How many minibatches we train between two averagings.

    As many as the master says, unless members differ much in speed: then who is fast
    trains more, and who is slow fewer, so that nobody waits long; together as many. All
    members know the same efforts, so that they choose sizes that belong together.

    Parameters
    ----------
    rank : int
        Ours.
    frequency : int
        Minibatches a round and worker.
    is_fixed : bool
        Whether it stays at that.
    """

    def __init__(self, rank: int, frequency: int, *, is_fixed: bool) -> None:
        self.own = frequency
        self._rank = rank
        self._frequency = frequency
        self._is_fixed = is_fixed
        self._rounds = 0
        self._seconds: dict[int, float] = {}  # of a minibatch, by rank

    def take(self, efforts: Mapping[int, tuple[int, float]]) -> None:
        """Take in what the members did in a round.

        Parameters
        ----------
        efforts : mapping of int to (int, float)
            Minibatches and seconds of each member that is alive, by rank.
        """
        self._rounds += 1
        if self._is_fixed or self._rounds <= UNMEASURED_ROUNDS:
            return
        for rank, (minibatches, seconds) in efforts.items():
            if minibatches:
                now = max(seconds / minibatches, LEAST_S)
                before = self._seconds.get(rank, now)
                self._seconds[rank] = before + SMOOTHING * (now - before)
        paces = {rank: self._seconds[rank] for rank in efforts if rank in self._seconds}
        if self._rounds > SETTLED_AFTER and len(paces) > 1 and self._rank in paces:
            self.own = self._size(paces)

    def _size(self, paces: Mapping[int, float]) -> int:
        if max(paces.values()) < UNEVEN * min(paces.values()):
            return self._frequency
        together = self._frequency * len(paces)
        speed = sum(1 / seconds for seconds in paces.values())
        return max(1, round(together / paces[self._rank] / speed))
