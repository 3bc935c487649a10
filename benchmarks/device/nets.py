"""What both peers train on a device, and how it is timed. Standard library only."""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.serve.shapes import NETS, Net

NAMES = ("lenet", "mlp", "lstm", "resnet", "resnet50")
# A device is not full of what fills a core.
_BATCHES = {"resnet50": 64}
# Of a figure: how many steps are timed together, and how often.
_STEPS = {"resnet50": 5, "resnet": 30}
_USUAL_STEPS = 100
_REPEATS = 7
WARM_UPS = 5


def net_named(name: str) -> Net:
    """Return a network with the minibatch that it has here."""
    net = NETS[name]
    batch = _BATCHES.get(name, net.features[0])
    return replace(net, features=(batch, *net.features[1:]))


def milliseconds(
    name: str, step: Callable[[], Any], synchronize: Callable[[], Any]
) -> float:
    """Return the median time of a step, with all that it leaves to the device.

    Parameters
    ----------
    name : str
        Of the network.
    step, synchronize : function without arguments
        A step, and what waits for the device.
    """
    n = _STEPS.get(name, _USUAL_STEPS)
    for _ in range(WARM_UPS):
        step()
    times = []
    for _ in range(_REPEATS):
        synchronize()
        start = time.perf_counter()
        for _ in range(n):
            step()
        synchronize()
        times.append((time.perf_counter() - start) / n * 1e3)
    return statistics.median(times)
