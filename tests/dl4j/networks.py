"""What a trial is, and the parts that networks on trial are made of."""

from dataclasses import dataclass, field
from typing import Any

import daskdl as dl
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    Recurrent,
)
from tests.dialects import DL4J

ROWS = FeedForward(size=4)
SERIES = Recurrent(size=3)
# Layers that change the length of series need to know it.
LONG_SERIES = Recurrent(size=3, time_steps=8)
IMAGES = Convolutional(height=6, width=7, channels=2)
VOLUMES = Convolutional3D(depth=4, height=5, width=4, channels=2)
IMAGES_LAST = IMAGES.replaced(data_format="NHWC")
SERIES_LAST = LONG_SERIES.replaced(data_format="NWC")
VOLUMES_LAST = VOLUMES.replaced(data_format="NDHWC")


@dataclass(frozen=True)
class Trial:
    """A network, and what its minibatches look like where that does not go by itself.

    Parameters
    ----------
    conf : configuration
        Without its dtype.
    features, labels : mapping of int to str, optional
        What is drawn for an input or output, e.g. ``"numbers below 7"``; see
        batches.py.
    has_features_masks, has_labels_masks : bool
        Whether time series have masks.
    fails : str, optional
        What DL4J says when it computes with the network.
    fails_in_training : str, optional
        What DL4J says when it trains the network.
    not_trained : str, optional
        Why no training is compared.
    miscounted : str, optional
        What is wrong with DL4J's score.
    """

    conf: Any
    features: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    has_features_masks: bool = False
    has_labels_masks: bool = False
    fails: str | None = None
    fails_in_training: str | None = None
    not_trained: str | None = None
    miscounted: str | None = None

    def __post_init__(self):
        # What is compared with DL4J computes as DL4J does.
        object.__setattr__(self, "conf", self.conf.replaced(dialect=DL4J))


def sequence(input_type, *layers, **options):
    return dl.MultiLayerConfiguration(
        input=input_type,
        layers=layers,
        **{"activation": "tanh", "updater": ADAM, "dialect": DL4J, **options},
    )


def trial(input_type, *layers, **options):
    return Trial(sequence(input_type, *layers), **options)


def graph(inputs, vertices, outputs="out", **options):
    """Return a graph; `inputs` is a mapping, or the type of an input called "in"."""
    return dl.ComputationGraphConfiguration(
        inputs=inputs if isinstance(inputs, dict) else {"in": inputs},
        vertices=vertices,
        outputs=outputs,
        **{"activation": "tanh", "updater": ADAM, "dialect": DL4J, **options},
    )


def as_graph(conf):
    """Return the layers of a sequence as a graph."""
    names = [f"layer{i}" for i in range(len(conf.layers))]
    layers = [
        layer.replaced(inputs=(before,))
        for before, layer in zip(["in", *names], conf.layers, strict=False)
    ]
    options = {option: getattr(conf, option) for option in NetworkConf.model_fields}
    vertices = dict(zip(names, layers, strict=True))
    return graph(conf.input, vertices, names[-1], **options)


def masked(input_type, *layers, **options):
    """A trial on time series of several lengths, with a label for each step."""
    conf = sequence(input_type, *layers)
    return Trial(conf, has_features_masks=True, has_labels_masks=True, **options)


def pooled(input_type, *layers, **options):
    """A trial on time series of several lengths, with a label for each series."""
    return Trial(sequence(input_type, *layers), has_features_masks=True, **options)


RANDOM = "DL4J draws other random numbers"
ADAM = {"type": "adam", "learning_rate": 0.01}


def out(**options):
    return dl.Output(n_out=3, **options)


def rnn_out(**options):
    return dl.RnnOutput(n_out=2, **options)


def conv(n_out=2, kernel_size=2, **options):
    return dl.Convolution2D(n_out=n_out, kernel_size=kernel_size, **options)


def same(n_out):
    return conv(n_out, 3, convolution_mode="same", activation="identity")


def between(n_out, *layers):
    return trial(IMAGES, conv(n_out), *layers, out())


def global_pool(pooling_type="avg", **options):
    return dl.GlobalPooling(pooling_type=pooling_type, **options)


def lstm(n_out=4, **options):
    return dl.LSTM(n_out=n_out, **options)


def simple(n_out=4, **options):
    return dl.SimpleRnn(n_out=n_out, **options)


dense = dl.Dense
