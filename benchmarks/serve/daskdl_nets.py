"""The networks of :mod:`benchmarks.serve.shapes` as daskdl's users write them."""

import importlib
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.serve.daskdl_resnets import NESTEROVS, resnet, resnet50
from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import (
    FIT,
    N_HEADS,
    N_WORDS,
    NETS,
    OUTPUT,
    WORD_SIZE,
)

_POOLING = {
    "type": "subsampling",
    "pooling_type": "max",
    "kernel_size": [2, 2],
    "stride": [2, 2],
}
_CLASSES = {"type": "output", "activation": "softmax", "loss": "mcxent", "n_out": 10}
_MEANS = {"type": "global_pooling", "pooling_type": "avg"}

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
    features: np.ndarray[Any, Any]
    if net.n_numbers:
        features = rng.integers(0, net.n_numbers, net.features).astype(np.float32)
    else:
        features = rng.standard_normal(net.features, dtype=np.float32)
    numbers = rng.integers(0, net.n_classes, net.label_axes)
    labels = np.eye(net.n_classes, dtype=np.float32)[numbers]
    # One-hot classes lie on axis 1, in front of the time.
    labels = np.ascontiguousarray(np.moveaxis(labels, -1, 1))
    # The first step would import it, and it would count as memory of the step.
    importlib.import_module("llvmlite.binding")
    conf = configuration_from_dict(configuration(case))
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


def configuration(net: str) -> dict[str, Any]:
    """Return the configuration of a network."""
    return _CONFIGURATIONS[net]()


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
    return {"input": image, "layers": layers, "updater": NESTEROVS}


def mlp() -> dict[str, Any]:
    """Return 784-1000-1000-10."""
    dense = {"type": "dense", "n_out": 1000, "activation": "relu"}
    rows = {"type": "feed_forward", "size": 784}
    layers = [dense, dense, _CLASSES]
    return {"input": rows, "layers": layers, "updater": NESTEROVS}


def lstm() -> dict[str, Any]:
    """Return two LSTM layers of 200 on time series of 77 features."""
    layers: list[dict[str, Any]] = [{"type": "lstm", "n_out": 200}] * 2
    layers = [*layers, {**_CLASSES, "type": "rnn_output", "n_out": 77}]
    series = {"type": "recurrent", "size": 77}
    return {"input": series, "layers": layers, "updater": NESTEROVS}


def lstm3() -> dict[str, Any]:
    """Return three LSTM layers of 512 on time series of 77 features."""
    layers: list[dict[str, Any]] = [{"type": "lstm", "n_out": 512}] * 3
    layers = [*layers, {**_CLASSES, "type": "rnn_output", "n_out": 77}]
    series = {"type": "recurrent", "size": 77}
    return {"input": series, "layers": layers, "updater": NESTEROVS}


def embedding() -> dict[str, Any]:
    """Return the mean of the vectors of words, and classes."""
    words = {"type": "embedding_sequence", "n_in": N_WORDS, "n_out": WORD_SIZE}
    layers = [words, _MEANS, _CLASSES]
    series = {"type": "recurrent", "size": 1}
    return {"input": series, "layers": layers, "updater": NESTEROVS}


def tabular() -> dict[str, Any]:
    """Return 50-512-256-128-2."""
    dense: dict[str, Any] = {"type": "dense", "activation": "relu"}
    layers = [{**dense, "n_out": n_out} for n_out in (512, 256, 128)]
    rows = {"type": "feed_forward", "size": 50}
    layers = [*layers, {**_CLASSES, "n_out": 2}]
    return {"input": rows, "layers": layers, "updater": NESTEROVS}


def attention() -> dict[str, Any]:
    """Return a layer of self-attention, the mean of its steps, and classes."""
    layer = {
        "type": "self_attention",
        "n_out": 128,
        "n_heads": N_HEADS,
        "project_input": True,
    }
    series = {"type": "recurrent", "size": 128}
    layers = [layer, _MEANS, _CLASSES]
    return {"input": series, "layers": layers, "updater": NESTEROVS}


_CONFIGURATIONS = {
    "lenet": lenet,
    "mlp": mlp,
    "lstm": lstm,
    "resnet": resnet,
    "resnet50": resnet50,
    "lstm3": lstm3,
    "embedding": embedding,
    "tabular": tabular,
    "attention": attention,
}
