"""What replicas learn: small tasks on which a rule of sharing can fail."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.learning.fashion import fashion_mnist
from daskdl import (
    LSTM,
    Dense,
    FeedForward,
    LastTimeStep,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Output,
    Recurrent,
)
from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.schedules import PolySchedule
from daskdl.nn.conf.updaters import Adam

Rate: TypeAlias = float | PolySchedule
_DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "data"


@dataclass(frozen=True)
class Task:
    """Examples, a network, and for how long it learns.

    Parameters
    ----------
    train, test : (features, labels)
        Labels are rows of 0 and 1.
    configuration : callable
        Takes a seed and a learning rate.
    learning_rate : float
        That of one process.
    epochs : int
        A multiple of 4.
    batch_size : int
        Of one worker.
    falls_within : int, default 0
        Iterations within which the rate falls to nothing in a line; 0 if it stays.
    """

    train: tuple[FloatArray, FloatArray]
    test: tuple[FloatArray, FloatArray]
    configuration: Callable[[int, Rate], MultiLayerConfiguration]
    learning_rate: float
    epochs: int
    batch_size: int = 32
    falls_within: int = 0

    def network(self, seed: int) -> MultiLayerNetwork:
        """Return a network with the weights of a seed."""
        return MultiLayerNetwork(self.configuration(seed, self._rate()))

    def _rate(self) -> "Rate":
        if not self.falls_within:
            return self.learning_rate
        return PolySchedule(
            initial_value=self.learning_rate, power=1.0, max_iter=self.falls_within
        )


def digits() -> Task:
    """Return the digits of ``examples/digits`` and a dense network."""
    train, test = _rows(_DIGITS / "train"), _rows(_DIGITS / "test")
    mean, deviation = train[0].mean(axis=0), train[0].std(axis=0)
    deviation[deviation == 0] = 1
    scaled = [((x - mean) / deviation, y) for x, y in (train, test)]

    return Task(scaled[0], scaled[1], _dense(64, 96), 0.002, epochs=20)


def images() -> Task:
    """Return blurred pictures that a dense network learns to nine in ten."""
    rng = np.random.default_rng(8)
    shapes = _blurred(rng.standard_normal((10, 6, 28, 28)), 3)
    shapes /= shapes.std(axis=(2, 3), keepdims=True)

    def drawn(n: int) -> tuple[FloatArray, FloatArray]:
        classes, others = rng.integers(0, 10, (2, n))
        kinds = rng.integers(0, 6, (2, n))
        blend = rng.uniform(0, 0.5, (n, 1, 1))
        pictures = (1 - blend) * shapes[classes, kinds[0]]
        pictures += blend * shapes[others, kinds[1]]
        shifts = rng.integers(-3, 4, (n, 2))
        for picture, shift in zip(pictures, shifts, strict=True):
            picture[...] = np.roll(picture, shift, axis=(0, 1))
        pictures += rng.standard_normal(pictures.shape)
        return pictures.reshape(n, -1).astype(np.float32), _one_hot(classes, 10)

    return Task(drawn(10_000), drawn(4_000), _dense(784, 128, 64), 0.001, epochs=4)


def fashion() -> Task:
    """Return 10,000 images of Fashion-MNIST, and the network of :func:`images`."""
    train, test = fashion_mnist("train", 10_000), fashion_mnist("t10k", 10_000)
    return Task(
        (train[0], _one_hot(train[1], 10)),
        (test[0], _one_hot(test[1], 10)),
        _dense(784, 128, 64),
        0.001,
        epochs=4,
    )


def sequences() -> Task:
    """Return sequences whose class is their first symbol, and an LSTM."""
    rng = np.random.default_rng(5)

    def drawn(n: int) -> tuple[FloatArray, FloatArray]:
        symbols = rng.integers(0, 4, (n, 12))
        # NCW: a row a symbol.
        features = np.eye(4, dtype=np.float32)[symbols].transpose(0, 2, 1)
        return np.ascontiguousarray(features), _one_hot(symbols[:, 0], 4)

    def configuration(seed: int, learning_rate: Rate) -> MultiLayerConfiguration:
        return MultiLayerConfiguration(
            seed=seed,
            updater=Adam(learning_rate=learning_rate),
            input=Recurrent(4),
            layers=[
                LastTimeStep(layer=LSTM(n_out=32, activation="tanh")),
                Output(n_out=4, loss="mcxent"),
            ],
        )

    return Task(drawn(3_000), drawn(1_000), configuration, 0.005, epochs=4)


TASKS: dict[str, Callable[[], Task]] = {
    "digits": digits,
    "images": images,
    "fashion": fashion,
    "sequences": sequences,
}


def _dense(n_in: int, *widths: int) -> Callable[[int, Rate], MultiLayerConfiguration]:
    """Return the configuration of a dense network that tells ten classes apart."""

    def configuration(seed: int, learning_rate: Rate) -> MultiLayerConfiguration:
        return MultiLayerConfiguration(
            seed=seed,
            updater=Adam(learning_rate=learning_rate),
            activation="relu",
            input=FeedForward(n_in),
            layers=[
                *(Dense(n_out=width) for width in widths),
                Output(n_out=10, loss="mcxent"),
            ],
        )

    return configuration


def _rows(folder: Path) -> tuple[FloatArray, FloatArray]:
    table = pq.read_table(folder)
    features = [row["values"] for row in table["features"].to_pylist()]
    return (
        np.array(features, np.float32),
        _one_hot(table["label"].to_numpy().astype(np.int64), 10),
    )


def _one_hot(numbers: NDArray[np.int64], n_classes: int) -> FloatArray:
    return np.eye(n_classes, dtype=np.float32)[numbers]


def _blurred(pictures: FloatArray, times: int) -> FloatArray:
    for _ in range(times):
        for axis in (-1, -2):
            pictures = (
                np.roll(pictures, 1, axis) + pictures + np.roll(pictures, -1, axis)
            )
    return pictures
