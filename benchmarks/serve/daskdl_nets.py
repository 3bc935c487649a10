"""The networks of :mod:`benchmarks.serve.shapes` as daskdl's users write them."""

from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import FIT, NETS, OUTPUT

_NESTEROVS = {"type": "nesterovs", "learning_rate": 0.001, "momentum": 0.9}
_POOLING = {
    "type": "subsampling",
    "pooling_type": "max",
    "kernel_size": [2, 2],
    "stride": [2, 2],
}
_CLASSES = {"type": "output", "activation": "softmax", "loss": "mcxent", "n_out": 10}

# What lasts as long as the process.
_kept = ExitStack()

OFFERS: Offers = [(net, what, "") for net in NETS for what in (FIT, OUTPUT)]


def make(case: str, what: str, variant: str) -> Work:
    """Return a training step or a forward pass of a network."""
    from daskdl.data.dataset import DataSet
    from daskdl.nn.conf.network import (
        MultiLayerConfiguration,
        configuration_from_dict,
    )
    from daskdl.nn.graph import ComputationGraph
    from daskdl.nn.multilayer import MultiLayerNetwork

    net = NETS[case]
    rng = np.random.default_rng(0)
    features = rng.standard_normal(net.features, dtype=np.float32)
    numbers = rng.integers(0, net.n_classes, net.label_axes)
    labels = np.eye(net.n_classes, dtype=np.float32)[numbers]
    # One-hot classes lie on axis 1, in front of the time.
    labels = np.ascontiguousarray(np.moveaxis(labels, -1, 1))
    conf = configuration_from_dict(_CONFIGURATIONS[case]())
    network: MultiLayerNetwork | ComputationGraph
    if isinstance(conf, MultiLayerConfiguration):
        network = MultiLayerNetwork(conf)
    else:
        network = ComputationGraph(conf)
    if hasattr(network, "keeping_threads"):
        # As a fit or an evaluation does; older checkouts have no threads.
        _kept.enter_context(network.keeping_threads())
    if what == OUTPUT:
        return Work(lambda: network.output(features))
    batch = DataSet(features, labels)
    return Work(lambda: network.fit_minibatch(batch))


def lenet() -> dict[str, Any]:
    """Return DL4J's LeNet example: conv 20, pool, conv 50, pool, dense 500."""
    convolution: dict[str, Any] = {
        "type": "convolution2d",
        "kernel_size": [5, 5],
        "activation": "identity",
    }
    layers = [
        {**convolution, "n_out": 20},
        _POOLING,
        {**convolution, "n_out": 50},
        _POOLING,
        {"type": "dense", "n_out": 500, "activation": "relu"},
        _CLASSES,
    ]
    image = {"type": "convolutional", "height": 28, "width": 28, "channels": 1}
    return {"input": image, "layers": layers, "updater": _NESTEROVS}


def mlp() -> dict[str, Any]:
    """Return 784-1000-1000-10."""
    dense = {"type": "dense", "n_out": 1000, "activation": "relu"}
    rows = {"type": "feed_forward", "size": 784}
    layers = [dense, dense, _CLASSES]
    return {"input": rows, "layers": layers, "updater": _NESTEROVS}


def lstm() -> dict[str, Any]:
    """Return two LSTM layers of 200 on time series of 77 features."""
    layers: list[dict[str, Any]] = [{"type": "lstm", "n_out": 200}] * 2
    layers = [*layers, {**_CLASSES, "type": "rnn_output", "n_out": 77}]
    series = {"type": "recurrent", "size": 77}
    return {"input": series, "layers": layers, "updater": _NESTEROVS}


def resnet() -> dict[str, Any]:
    """Return three residual blocks of 16, 32 and 64 channels on 32 x 32 images."""
    vertices: dict[str, Any] = {}

    def add(name: str, inputs: list[str], **options: Any) -> str:
        vertices[name] = {"inputs": inputs, **options}
        return name

    def normalised(name: str, x: str, n_out: int, stride: int, size: int = 3) -> str:
        convolved = add(
            f"{name}-conv",
            [x],
            type="convolution2d",
            n_out=n_out,
            kernel_size=[size, size],
            stride=[stride, stride],
            convolution_mode="same",
            has_bias=False,
            activation="identity",
        )
        return add(f"{name}-norm", [convolved], type="batch_normalization")

    def relu(name: str, x: str) -> str:
        return add(name, [x], type="activation", activation="relu")

    def block(name: str, x: str, n_out: int, stride: int) -> str:
        first = relu(f"{name}-relu", normalised(f"{name}-1", x, n_out, stride))
        second = normalised(f"{name}-2", first, n_out, 1)
        if stride > 1:
            x = normalised(f"{name}-shortcut", x, n_out, stride, size=1)
        return relu(
            name, add(f"{name}-sum", [second, x], type="element_wise", op="add")
        )

    x = relu("stem", normalised("stem", "image", 16, 1))
    x = block("a", x, 16, 1)
    x = block("b", x, 32, 2)
    x = block("c", x, 64, 2)
    add("means", [x], type="global_pooling", pooling_type="avg")
    add("classes", ["means"], **_CLASSES)
    image = {"type": "convolutional", "height": 32, "width": 32, "channels": 3}
    return {
        "inputs": {"image": image},
        "vertices": vertices,
        "outputs": ["classes"],
        "updater": _NESTEROVS,
    }


_CONFIGURATIONS = {"lenet": lenet, "mlp": mlp, "lstm": lstm, "resnet": resnet}
