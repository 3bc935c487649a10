"""What all replicas have in common: their minibatches, and what is told of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.tasks import Task
from daskdl import DataSet

# Of a minibatch.
Rows: TypeAlias = NDArray[np.int64]

# Messages in front of it may be long: that is what a warm-up is.
FIRST_COUNTED = 9


@dataclass(frozen=True)
class Learned:
    """What came of one run.

    Parameters
    ----------
    scores : tuple of float
        Accuracy on the test data after each epoch.
    message_bytes : float
        Mean length of a replica's messages from its tenth one on; NaN if it sent none.
    dense_bytes : int
        What the parameters take.
    """

    scores: tuple[float, ...]
    message_bytes: float
    dense_bytes: int

    @property
    def quarter(self) -> float:
        """Accuracy after a quarter of the epochs."""
        return self.scores[len(self.scores) // 4 - 1]

    @property
    def end(self) -> float:
        """Accuracy after all epochs."""
        return self.scores[-1]


def learned_by(network: Any, scores: Sequence[float], sizes: Sequence[int]) -> Learned:
    """Return what came of a run whose counted messages have these sizes in bytes."""
    return Learned(
        scores=tuple(scores),
        message_bytes=float(np.mean(sizes)) if sizes else float("nan"),
        dense_bytes=network.params.nbytes,
    )


def orders(task: Task, seed: int) -> Iterator[list[Rows]]:
    """Yield what the minibatches of each epoch are made of."""
    rng = np.random.default_rng(seed)
    size, n = task.batch_size, len(task.train[0])
    for _ in range(task.epochs):
        order = rng.permutation(n)
        yield [order[start : start + size] for start in range(0, n, size)]


def rounds(order: list[Rows], n: int) -> list[list[Rows]]:
    """Return the minibatches that `n` replicas train at a time."""
    return [order[start : start + n] for start in range(0, len(order), n)]


def fit(replica: Any, task: Task, rows: Rows) -> None:
    """Train a minibatch; the replica is the exchange of its network."""
    features, labels = task.train
    batch = DataSet(features[rows], labels[rows])
    replica.network.fit_minibatch(batch, exchange=replica)


def accuracy(network: Any, task: Task) -> float:
    """Return the accuracy on the test data."""
    features, labels = task.test
    return float((network.output(features).argmax(1) == labels.argmax(1)).mean())
