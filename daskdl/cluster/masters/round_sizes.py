"""How many minibatches a member trains between two averagings. Pure."""

from collections.abc import Mapping

# In the first rounds of a phase kernels are compiled, and caches are cold.
UNMEASURED_ROUNDS = 2
SETTLED_AFTER = 5
SMOOTHING = 0.3
# Below that ratio of the slowest to the fastest, all train as many: what a busy machine
# does to equal workers is no difference between them, and equal rounds are repeatable.
UNEVEN = 2.0
# Seconds that the fastest must have waited: short runs of equal workers are repeatable
# on a busy machine, too.
WORTH_S = 1.0
# A clock may stand still for a minibatch.
LEAST_S = 1e-6


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
        self._waited_s = 0.0  # since members differ

    @property
    def are_uneven(self) -> bool:
        """Whether ours differs from what the master says."""
        return self.own != self._frequency

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
            took_s = [took for minibatches, took in efforts.values() if minibatches]
            waited_s = max(took_s) - min(took_s) if took_s else 0.0
            self.own = self._size(paces, waited_s)

    def _size(self, paces: Mapping[int, float], waited_s: float) -> int:
        if max(paces.values()) < UNEVEN * min(paces.values()):
            self._waited_s = 0.0
            return self._frequency
        self._waited_s += waited_s
        if self._waited_s < WORTH_S:
            return self._frequency
        together = self._frequency * len(paces)
        speed = sum(1 / seconds for seconds in paces.values())
        return max(1, round(together / paces[self._rank] / speed))
