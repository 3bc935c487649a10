"""Our steps: ``python -m benchmarks.device.peer_daskdl NET`` prints milliseconds."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

import daskdl
from benchmarks.device.nets import REPEATS, STEPS, USUAL_STEPS, WARM_UPS, net_named
from benchmarks.serve.daskdl_nets import configuration
from daskdl.nn.conf.network import MultiLayerConfiguration, configuration_from_dict


def main() -> None:
    """Time a network; it must live on the device."""
    (name,) = sys.argv[1:]
    network, batch = made(name)
    timed = {
        "from the host": milliseconds(name, lambda: network.train_minibatch(batch)),
        "waiting for scores": milliseconds(name, lambda: network.fit_minibatch(batch)),
    }
    free, total = cupy.cuda.runtime.memGetInfo()
    sys.stdout.write(json.dumps({**timed, "MiB": (total - free) >> 20}))


def made(name: str) -> tuple[Any, Any]:
    """Return a network, and a minibatch in main memory."""
    net, rng = net_named(name), np.random.default_rng(0)
    features = rng.standard_normal(net.features, dtype=np.float32)
    classes = rng.integers(0, net.n_classes, net.label_axes)
    labels = np.moveaxis(np.eye(net.n_classes, dtype=np.float32)[classes], -1, 1)
    batch = daskdl.DataSet(features, np.ascontiguousarray(labels))
    conf = configuration_from_dict(configuration(name))
    if isinstance(conf, MultiLayerConfiguration):
        return daskdl.MultiLayerNetwork(conf), batch
    return daskdl.ComputationGraph(conf), batch


def milliseconds(name: str, step: Callable[[], Any]) -> float:
    """Return the median time of a step, with all that it leaves to the device."""
    device, n = cupy.cuda.Device(), STEPS.get(name, USUAL_STEPS)
    for _ in range(WARM_UPS):
        step()
    times = []
    for _ in range(REPEATS):
        device.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            step()
        device.synchronize()
        times.append((time.perf_counter() - start) / n * 1e3)
    return statistics.median(times)


if __name__ == "__main__":
    main()
