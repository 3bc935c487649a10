"""A small classifier and examples for it."""

import numpy as np
import pytest

import daskdl as dl


@pytest.fixture
def network():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=5),
            layers=[dl.Dense(n_out=6, activation="tanh"), dl.Output(n_out=3)],
            updater=dl.Adam(0.01),
            seed=11,
        )
    )


@pytest.fixture
def data(rng):
    features = rng.standard_normal((40, 5)).astype(np.float32)
    return dl.DataSet(features, np.abs(features[:, 0] * 2).astype(int) % 3)
