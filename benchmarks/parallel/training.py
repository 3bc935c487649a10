"""How many minibatches are trained in a second: by a ParallelWrapper, or without."""

import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.parallel.asking import network_of
from benchmarks.serve.scaling import minibatch
from daskdl import ParallelWrapper

_EPOCHS = 4
# Where processes meet before they are measured, in each of them.
_barrier: Any = None


def minibatches_per_s(
    net: str,
    options: Mapping[str, Any],
    workers: int,
    minibatches: int,
    batch: int | None = None,
) -> float:
    """Return the minibatches a second of all workers, without the first epoch.

    Parameters
    ----------
    net : str
        Which network.
    options : mapping
        Of the wrapper.
    workers : int
        How many.
    minibatches : int
        Of each worker in an epoch.
    batch : int, optional
        Examples of a minibatch; as many as all peers are given if not given.
    """
    network = network_of(net)
    data = [minibatch(net, seed, batch) for seed in range(minibatches * workers)]
    wrapper = ParallelWrapper(network, workers=workers, **options)
    with wrapper:
        wrapper.fit(data, epochs=_EPOCHS, listeners=[])
    report = network.last_fit
    if report is None:
        raise RuntimeError("a fit must leave a report")
    # The first one compiles, and waits for data.
    later = report.epochs[1:]
    return len(data) * len(later) / sum(epoch.wall_s for epoch in later)


def independent_per_s(
    net: str, processes: int, minibatches: int, batch: int | None = None
) -> float:
    """Return the minibatches a second of processes that know nothing of each other.

    Parameters
    ----------
    net : str
        Which network.
    processes : int
        How many, at once.
    minibatches : int
        Of each in an epoch.
    batch : int, optional
        As for :func:`minibatches_per_s`.
    """
    spawn = get_context("spawn")
    with ProcessPoolExecutor(
        processes, spawn, _meet_at, (spawn.Barrier(processes),)
    ) as pool:
        jobs = [pool.submit(_train, net, minibatches, batch) for _ in range(processes)]
        return sum(job.result() for job in jobs)


def _meet_at(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _train(net: str, minibatches: int, batch: int | None) -> float:
    network = network_of(net)
    data = [minibatch(net, seed, batch) for seed in range(minibatches)]
    network.fit(data, listeners=[])
    _barrier.wait()
    began_s = time.perf_counter()
    network.fit(data, epochs=_EPOCHS - 1, listeners=[])
    return (_EPOCHS - 1) * minibatches / (time.perf_counter() - began_s)
