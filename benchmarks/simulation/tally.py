"""What a simulation counts while it runs."""

from collections.abc import Iterable, Mapping

# Of more workers, some stand for all: every pair in every step would be too many.
MOST_COMPARED = 64


class Tally:
    """Minibatches of each worker, and how late the others see them.

    Parameters
    ----------
    n_workers : int
        How many there are.
    """

    def __init__(self, n_workers: int) -> None:
        self.minibatches = [0] * n_workers
        self._in_phase = [0] * n_workers
        stride = -(-n_workers // MOST_COMPARED)
        self._compared = range(0, n_workers, stride)
        self._late = 0
        self._pairs = 0
        self.most_late = 0
        self.open: set[int] = set()  # who has not ended the phase

    @property
    def mean_late(self) -> float:
        """Minibatches of another worker that a gradient did not see, in the mean.

        Of those that had been trained when it was done: half of one in the mean where
        all are in step, since each is done before or after each other.
        """
        return self._late / self._pairs if self._pairs else 0.0

    def begin(self, members: Iterable[int]) -> None:
        """Start a phase: all know all."""
        self._in_phase = [0] * len(self._in_phase)
        self.open = set(members)

    def trained(self, rank: int) -> None:
        """Count a minibatch of a worker."""
        self.minibatches[rank] += 1
        self._in_phase[rank] += 1

    def look(self, known: Mapping[int, int]) -> None:
        """Compare what was known when a gradient began with what there is at its end.

        Parameters
        ----------
        known : mapping of rank to int
            Minibatches of other workers.
        """
        delays = [self._in_phase[rank] - position for rank, position in known.items()]
        self._late += sum(delays)
        self._pairs += len(delays)
        self.most_late = max([self.most_late, *delays])

    @property
    def compared(self) -> range:
        """Workers that stand for all."""
        return self._compared
