"""Running means and variances in gradient sharing: kept by each worker, then averaged.

They cannot go the way of the updates. A threshold message takes a fixed quantum off an
element, and every worker sends one for the same movement, so that a small variance
became negative within one epoch of two workers, and the network's output NaN. So each
worker follows its own minibatches, and the end of a phase averages.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray, to_device, to_host

Statistics = NDArray[np.floating]


class RunningStatistics:
    """The running statistics of one replica. Pure.

    Parameters
    ----------
    params : ndarray of shape (n,)
        The flat parameters; written through.
    slots : sequence of Slot
        Where the running statistics lie; there may be none.
    """

    def __init__(self, params: FloatArray, slots: Sequence[Slot] = ()) -> None:
        self._params = params
        self._spans = [slice(slot.offset, slot.stop) for slot in slots]
        self._received: dict[int, tuple[int, Statistics]] = {}

    def begin(self) -> None:
        """Start a phase: drop the statistics of the last one."""
        self._received.clear()

    def copy_to(self, base: FloatArray) -> None:
        """Write the statistics where they lie in another vector of shape (n,)."""
        for span in self._spans:
            base[span] = self._params[span]

    def values(self) -> Statistics | None:
        """Return a copy of all statistics, one behind the other, (n_statistics,).

        None if there are none.
        """
        if not self._spans:
            return None
        return np.concatenate([to_host(self._params[span]) for span in self._spans])

    def receive(self, rank: int, weight: int, values: Statistics) -> None:
        """Keep the statistics that a peer had at the end of the phase.

        Parameters
        ----------
        rank, weight : int
            Of the peer, and how many minibatches it trained.
        values : ndarray of shape (n_statistics,)
            Its :meth:`values`.
        """
        self._received[rank] = (weight, values)

    def average(self, weight: int) -> None:
        """Take over the mean of all replicas.

        Parameters
        ----------
        weight : int
            Minibatches that we trained in this phase; peers said theirs. A replica
            that trained none has nothing to tell.
        """
        own = self.values()
        total = weight + sum(weight for weight, _ in self._received.values())
        if own is None or not total:
            return
        mean = own * (weight / total)
        for _, (peer_weight, values) in sorted(self._received.items()):
            mean += values * (peer_weight / total)
        self.take(mean)

    def take(self, values: Statistics) -> None:
        """Overwrite all statistics by those of :meth:`values`, (n_statistics,)."""
        start = 0
        for span in self._spans:
            stop = start + span.stop - span.start
            self._params[span] = to_device(values[start:stop], self._params)
            start = stop
