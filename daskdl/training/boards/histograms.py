"""How parameters and their updates are distributed, layer by layer."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, to_host

__all__ = ["Distributions", "buckets", "magnitude"]

# As many as TensorBoard shows.
_N_BINS = 30


class Distributions:
    """Parameters of a network and what was subtracted from them since the last look.

    Parameters
    ----------
    network : Network
        As training begins. A copy of its parameters is kept.
    iteration : int
        Minibatches trained until then.
    """

    def __init__(self, network: Any, iteration: int) -> None:
        self._before = np.array(to_host(network.params))
        self._iteration = iteration

    def of(
        self, network: Any, iteration: int
    ) -> Iterator[tuple[str, FloatArray, FloatArray]]:
        """Yield the name of each parameter, its values and its mean update.

        The update is the mean of an iteration since the last look: that of the last
        iteration where every one is looked at. Nothing is yielded where none was
        trained since.
        """
        trained = iteration - self._iteration
        if trained < 1:
            return
        now = np.array(to_host(network.params))
        updates = (self._before - now) / trained
        self._before, self._iteration = now, iteration
        for slot in network.layout:
            part = slice(slot.offset, slot.stop)
            yield slot.name, now[part], updates[part]


def magnitude(values: FloatArray) -> float:
    """Return the mean of the magnitudes of values of any shape; NaN of none."""
    return float(np.abs(values).mean()) if values.size else float("nan")


def buckets(values: FloatArray) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return counts (30,) of finite values, and upper limits (30,) of the buckets."""
    counts, edges = np.histogram(values, bins=_N_BINS)
    return counts, edges[1:]
