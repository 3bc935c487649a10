"""Our steps: ``python -m benchmarks.device.peer_daskdl NET`` prints milliseconds."""

import json
import sys
from typing import Any

import cupy
import numpy as np

import daskdl
from benchmarks.device.nets import milliseconds, net_named
from benchmarks.serve.daskdl_nets import configuration
from daskdl.nn.conf.network import MultiLayerConfiguration, configuration_from_dict


def main() -> None:
    """Time a network; it must live on the device."""
    (name,) = sys.argv[1:]
    network, batch = made(name)
    steps = {
        "from the host": lambda: network.train_minibatch(batch),
        "waiting for scores": lambda: network.fit_minibatch(batch),
    }
    synchronize = cupy.cuda.Device().synchronize
    timed = {way: milliseconds(name, steps[way], synchronize) for way in steps}
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


if __name__ == "__main__":
    main()
