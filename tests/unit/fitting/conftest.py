"""A small classifier and examples for it."""

import numpy as np
import pytest

from daskdl import Dense, Output
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork


@pytest.fixture
def network():
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            input=FeedForward(size=5),
            layers=[Dense(n_out=6, activation="tanh"), Output(n_out=3)],
            updater="adam",
            seed=11,
        )
    )


@pytest.fixture
def examples(rng):
    """Return a function that draws n examples with class labels 0, 1 or 2."""

    def draw(n: int) -> DataSet:
        features = rng.standard_normal((n, 5)).astype(np.float32)
        classes = np.abs(features[:, 0] * 2).astype(int) % 3
        return DataSet(features, classes)

    return draw
