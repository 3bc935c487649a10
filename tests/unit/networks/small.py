"""Small networks and data that several tests use."""

import numpy as np

from daskdl import LSTM, Dense, MergeVertex, Output, RnnOutput
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork


def sequence(input_type, *layers, **options):
    return MultiLayerNetwork(
        MultiLayerConfiguration(input=input_type, layers=layers, **options)
    )


def mlp(**options):
    return sequence(
        FeedForward(size=4),
        Dense(n_out=5, activation="tanh"),
        Output(n_out=3),
        **{"updater": "adam", **options},
    )


def rnn(data_format="NCW", **options):
    return sequence(
        Recurrent(size=3, data_format=data_format),
        LSTM(n_out=4),
        RnnOutput(n_out=2),
        **options,
    )


def rows(rng, n=12, n_classes=3):
    labels = np.eye(n_classes)[rng.integers(0, n_classes, n)]
    return DataSet(rng.standard_normal((n, 4)), labels)


def two_in_two_out(**options):
    return ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"a": FeedForward(size=4), "b": FeedForward(size=2)},
            vertices={
                "d": Dense(n_out=3, inputs=["a"]),
                "m": MergeVertex(inputs=["d", "b"]),
                "o1": Output(n_out=3, inputs=["m"]),
                "o2": Output(n_out=1, loss="mse", inputs=["d"]),
            },
            outputs=["o2", "o1"],
            **options,
        )
    )
