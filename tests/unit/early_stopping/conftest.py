"""A network, examples for it, and scores that come as they are given."""

import numpy as np
import pytest

import daskdl as dl


class GivenScores(dl.ScoreCalculator):
    """Gives these scores one after another, and notes what it was asked for."""

    def __init__(self, scores, *, minimize=True):
        self.minimize_score = minimize
        self.asked = []
        self._scores = iter(scores)

    def calculate_score(self, fit):
        self.asked.append((fit.epoch, fit.iteration))
        return next(self._scores)


@pytest.fixture
def network():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=5),
            layers=[dl.Dense(n_out=6, activation="tanh"), dl.Output(n_out=3)],
            updater="adam",
            l2=0.01,
            seed=11,
        )
    )


@pytest.fixture
def examples(rng):
    """Return a function that draws n examples of three classes."""

    def draw(n: int) -> dl.DataSet:
        features = rng.standard_normal((n, 5)).astype(np.float32)
        classes = np.abs(features[:, 0] * 2).astype(int) % 3
        return dl.DataSet(features, np.eye(3, dtype=np.float32)[classes])

    return draw


@pytest.fixture
def fit(network, examples):
    """Return a function that trains with early stopping on given scores."""
    data = examples(25)

    def train(scores, *conditions, minimize=True, epochs=20, **how):
        calculator = GivenScores(scores, minimize=minimize)
        stopping = dl.EarlyStopping(calculator, conditions, **how)
        network.fit(data, epochs=epochs, batch_size=10, listeners=stopping)
        return stopping.result, calculator

    return train
