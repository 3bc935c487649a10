"""Time one training step of small networks, here or against another checkout.

Run as ``python benchmarks/steps.py [--against FOLDER] [network ...]``. Each checkout
has a process of its own; they take turns of ten steps, and the medians of CPU time and
of the ratio within a turn are reported, so that a change of load meets both.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 15
STEPS = 10

DENSE_1000 = {"type": "dense", "n_out": 1000, "activation": "relu"}
POOLING = {"type": "subsampling", "pooling_type": "max"}


def lenet() -> tuple[dict[str, Any], tuple[int, ...], int]:
    """Return DL4J's LeNet example: conv 20, pool, conv 50, pool, dense 500."""
    layers = [
        {"type": "convolution2d", "n_out": 20, "activation": "identity"},
        POOLING,
        {"type": "convolution2d", "n_out": 50, "activation": "identity"},
        POOLING,
        {"type": "dense", "n_out": 500, "activation": "relu"},
        {"type": "output", "n_out": 10},
    ]
    image = {"type": "convolutional", "height": 28, "width": 28, "channels": 1}
    updater = {"type": "nesterovs", "learning_rate": 0.001}
    return {"input": image, "layers": layers, "updater": updater}, (64, 1, 28, 28), 10


def mlp() -> tuple[dict[str, Any], tuple[int, ...], int]:
    """Return 784-1000-1000-10."""
    layers = [DENSE_1000, DENSE_1000, {"type": "output", "n_out": 10}]
    rows = {"type": "feed_forward", "size": 784}
    return {"input": rows, "layers": layers, "updater": "adam"}, (128, 784), 10


def lstm() -> tuple[dict[str, Any], tuple[int, ...], int]:
    """Return two LSTM layers of 200 on 50 steps of 77 features."""
    layers = [{"type": "lstm", "n_out": 200}] * 2
    layers.append({"type": "rnn_output", "n_out": 77, "loss": "mcxent"})
    series = {"type": "recurrent", "size": 77}
    return {"input": series, "layers": layers, "updater": "rmsprop"}, (32, 77, 50), 77


def digits() -> tuple[dict[str, Any], tuple[int, ...], int]:
    """Return the network of examples/digits."""
    layers = [
        {
            "type": "convolution2d",
            "n_out": 32,
            "kernel_size": [3, 3],
            "convolution_mode": "same",
            "activation": "relu",
        },
        POOLING,
        {"type": "dense", "n_out": 96, "activation": "relu"},
        {"type": "output", "n_out": 10},
    ]
    image = {"type": "convolutional_flat", "height": 8, "width": 8, "channels": 1}
    return {"input": image, "layers": layers, "updater": "adam"}, (32, 64), 10


NETWORKS = {"lenet": lenet, "mlp": mlp, "lstm": lstm, "digits": digits}


def main(names: list[str], against: str | None) -> None:
    """Print one line a network: milliseconds a step, and the ratio to the other."""
    here = Path(__file__).parents[1]
    folders = [str(here), *([str(Path(against).resolve())] if against else [])]
    print(f"ms of CPU time a step, median of {ROUNDS} turns of {STEPS} steps, 1 thread")
    for name in names:
        children = [start(folder, name) for folder in folders]
        turns = [[ask(child) for child in children] for _ in range(ROUNDS + 1)][1:]
        for child in children:
            child.communicate()
        medians = [statistics.median(times) for times in zip(*turns, strict=True)]
        line = " ".join(f"{seconds * 1e3:8.3f}" for seconds in medians)
        ratios = [turn[-1] / turn[0] for turn in turns]
        faster = f"{statistics.median(ratios):6.2f}x" if against else ""
        print(f"{name:8s} {line} {faster}")


def start(folder: str, name: str) -> subprocess.Popen[str]:
    """Start a process that times steps of one network with the package in `folder`."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", name],
        env={**os.environ, **one_thread, "PYTHONPATH": folder},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(child: subprocess.Popen[str]) -> float:
    """Return the seconds that one step took in the child's next turn."""
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the child has no pipes")
    child.stdin.write("go\n")
    child.stdin.flush()
    return float(json.loads(child.stdout.readline()))


def serve(name: str) -> None:
    """Time a turn for each line of standard input."""
    step = trainer(name)
    for _ in sys.stdin:
        start = time.process_time()
        for _ in range(STEPS):
            step()
        print((time.process_time() - start) / STEPS, flush=True)


def trainer(name: str) -> Callable[[], Any]:
    """Return a function that trains one minibatch."""
    import numpy as np

    from daskdl.data.dataset import DataSet
    from daskdl.nn.conf.network import configuration_from_dict
    from daskdl.nn.multilayer import MultiLayerNetwork

    conf, shape, n_classes = NETWORKS[name]()
    rng = np.random.default_rng(0)
    classes = np.eye(n_classes, dtype=np.float32)
    if len(shape) == 3:
        labels = classes[rng.integers(0, n_classes, (shape[0], shape[2]))]
        labels = labels.transpose(0, 2, 1).copy()
    else:
        labels = classes[rng.integers(0, n_classes, shape[0])]
    batch = DataSet(rng.standard_normal(shape, dtype=np.float32), labels)
    network = MultiLayerNetwork(configuration_from_dict(conf))
    return lambda: network.fit_minibatch(batch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("network", nargs="*", default=list(NETWORKS))
    parser.add_argument("--against", metavar="FOLDER", help="another checkout")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    else:
        main(options.network, options.against)
