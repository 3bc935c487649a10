"""How many answers threads get of one network, and how late."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.serve.daskdl_nets import configuration
from benchmarks.serve.shapes import NETS
from daskdl import MultiLayerNetwork, ParallelInference
from daskdl.nn.conf.network import configuration_from_dict

SWAPS = 100
_WAIT_BETWEEN_SWAPS_S = 0.01

Ask = Callable[[NDArray[Any]], Any]


def network_of(net: str) -> MultiLayerNetwork:
    """Return one of the networks that are measured, with its first weights."""
    conf: Any = configuration_from_dict(configuration(net))
    return MultiLayerNetwork(conf)


def rows_of(net: str, n: int) -> NDArray[Any]:
    """Return features of so many examples, always the same."""
    rng = np.random.default_rng(0)
    shape = (n, *NETS[net].features[1:])
    return rng.standard_normal(shape, dtype=np.float32)


def alone_per_s(
    network: MultiLayerNetwork, rows: NDArray[Any], seconds: float
) -> float:
    """Return how many rows a second one thread gets through ``output``."""
    (waits_s,) = asked(network.output, rows[:1], seconds)
    return len(waits_s) / seconds


def asked(
    ask: Ask, rows: NDArray[Any], seconds: float, per_s: float | None = None
) -> list[list[float]]:
    """Let a thread for each row ask again and again.

    Parameters
    ----------
    ask : callable
        Takes features (1, ...).
    rows : ndarray of shape (threads, ...)
        What each asks.
    seconds : float
        How long.
    per_s : float, optional
        How often all threads together ask, in turn: ``seconds * per_s`` times, rounded,
        however late they are. As often as they get answers if not given.

    Returns
    -------
    list of list of float
        How long each answer of each thread took, in seconds: from the moment at which
        it was to ask, also where it was late.
    """
    n = len(rows)
    waits_s: list[list[float]] = [[] for _ in range(n)]
    begin_s = time.perf_counter() + 0.1

    def moments_s(number: int) -> Iterator[float]:
        if per_s is None:
            now_s = begin_s
            while now_s < begin_s + seconds:
                yield now_s
                now_s = time.perf_counter()
            return
        # Counted beforehand: sums of a clock's seconds round to one more now and then.
        for ask in range(number, round(seconds * per_s), n):
            yield begin_s + ask / per_s

    def client(number: int) -> None:
        row = rows[number : number + 1]
        for due_s in moments_s(number):
            time.sleep(max(0.0, due_s - time.perf_counter()))
            ask(row)
            waits_s[number].append(time.perf_counter() - due_s)

    threads = [threading.Thread(target=client, args=(each,)) for each in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waits_s


def lost_in_swaps(networks: list[MultiLayerNetwork], rows: NDArray[Any]) -> int:
    """Return how many of the answers were missing or wrong while models were swapped.

    Parameters
    ----------
    networks : list of network
        Two, which take each other's place :data:`SWAPS` times.
    rows : ndarray of shape (threads, ...)
        What each thread asks.
    """
    wanted = [network.output(rows) for network in networks]
    wrong: list[int] = []
    ends = threading.Event()

    def client(number: int) -> None:
        while not ends.is_set():
            found = inference.output(rows[number : number + 1])[0]
            one, other = (outputs[number] for outputs in wanted)
            if not (np.allclose(found, one, 1e-4) or np.allclose(found, other, 1e-4)):
                wrong.append(number)
        ended.append(number)

    ended: list[int] = []
    with ParallelInference(networks[0]) as inference:
        threads = [
            threading.Thread(target=client, args=(number,))
            for number in range(len(rows))
        ]
        for thread in threads:
            thread.start()
        for swap in range(SWAPS):
            inference.update_model(networks[1 - swap % 2])
            time.sleep(_WAIT_BETWEEN_SWAPS_S)
        ends.set()
        for thread in threads:
            thread.join()
    return len(wrong) + len(rows) - len(ended)
