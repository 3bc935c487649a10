"""Replicas that learn in one process, in step: what a rule of sharing costs.

Each round every replica trains one minibatch; its message reaches the others before the
next round, or a number of rounds later. No clock and no thread has a part in it, so the
same options give the same figures.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.tasks import Task
from daskdl import DataSet, MultiLayerNetwork
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer, SharedUpdate
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingMaster,
)

# Of a minibatch.
Rows: TypeAlias = NDArray[np.int64]

# Messages in front of it may be long: that is what a warm-up is.
_FIRST_COUNTED = 9


@dataclass(frozen=True)
class Learned:
    """What came of one run.

    Parameters
    ----------
    quarter, end : float
        Accuracy on the test data after a quarter of the epochs, and after all.
    message_bytes : float
        Mean length of a replica's messages from its tenth one on; NaN if it sent none.
    dense_bytes : int
        What the parameters take.
    """

    quarter: float
    end: float
    message_bytes: float
    dense_bytes: int


class Sharing:
    """A replica that shares updates; an exchange as its network sees it."""

    adds_up_gradients = False

    def __init__(
        self, master: SharedTrainingMaster, task: Task, rank: int, n: int, seed: int
    ) -> None:
        self.network = MultiLayerNetwork(task.configuration(seed))
        self.message_bytes: list[int] = []
        self._peers = frozenset(range(n)) - {rank}
        self._peer = GradientSharingPeer(
            master, self.network.params, self.network.running_slots
        )
        self._phase = self._position = 0
        self._iteration = 0
        self._is_due = False

    def begin(self) -> None:
        """Start an epoch."""
        self._position = 0
        self._peer.begin(self._phase, self._peers)

    def updated(self, network: Any) -> None:
        """Count an update; what is to be told is asked for between rounds."""
        self._position += 1
        self._iteration = network.iteration_count
        self._is_due = self._peer.count_update(self._iteration)

    def iteration_done(self, network: Any, examples: int) -> None:
        """Do nothing."""

    def proposal(self) -> SharedUpdate | None:
        """Return what the first update asks for, if that is to be agreed on."""
        return self._peer.propose(self.network.gradients)

    def agree(self, own: SharedUpdate | None) -> None:
        """Start from what all have proposed."""
        if own is not None:
            self._peer.agree(own)

    def message(self) -> SharedUpdate | None:
        """Return what the others get after a round."""
        if not self._is_due:
            return None
        return self._told(
            self._peer.share(
                self.network.gradients,
                iteration=self._iteration,
                position=self._position,
            )
        )

    def receive(self, rank: int, message: SharedUpdate) -> None:
        """Take a message in."""
        self._peer.receive(rank, message)

    def last(self) -> SharedUpdate:
        """Return the last message of an epoch."""
        return self._told(self._peer.end(self._position))

    def end(self) -> None:
        """End an epoch."""
        self._peer.conclude(self._position)
        self._phase += 1
        self.network.epoch_count += 1

    def _told(self, message: SharedUpdate) -> SharedUpdate:
        if message.data is not None:
            self.message_bytes.append(message.data.nbytes)
        return message


def shared(
    master: SharedTrainingMaster, task: Task, n: int, seed: int, delay: int
) -> Learned:
    """Return what `n` replicas learn whose messages are `delay` rounds late."""
    replicas = [Sharing(master, task, rank, n, seed) for rank in range(n)]
    scores, has_agreed = [], False
    for order in _orders(task, seed):
        on_their_way: list[dict[int, SharedUpdate | None]] = []
        for replica in replicas:
            replica.begin()
        for minibatches in _rounds(order, n):
            active = dict(enumerate(replicas[: len(minibatches)]))
            for replica, rows in zip(active.values(), minibatches, strict=True):
                _fit(replica, task, rows)
            if not has_agreed:
                _agree(active)
                has_agreed = True
            on_their_way.append({r: each.message() for r, each in active.items()})
            if len(on_their_way) > delay:
                _deliver(replicas, on_their_way.pop(0))
        for messages in on_their_way:
            _deliver(replicas, messages)
        _deliver(replicas, {rank: each.last() for rank, each in enumerate(replicas)})
        for replica in replicas:
            replica.end()
        scores.append(_accuracy(replicas[0].network, task))
    counted = [b for each in replicas for b in each.message_bytes[_FIRST_COUNTED:]]
    return _learned(scores, counted, replicas[0].network)


def averaged(
    master: ParameterAveragingTrainingMaster, task: Task, n: int, seed: int
) -> Learned:
    """Return what `n` replicas learn that average their parameters."""
    replicas = [_Averaging(task, seed) for _ in range(n)]
    scores, sizes = [], []
    for order in _orders(task, seed):
        rounds = _rounds(order, n)
        for number, minibatches in enumerate(rounds, 1):
            for replica, rows in zip(replicas, minibatches, strict=False):
                _fit(replica, task, rows)
            if number % master.averaging_frequency == 0 or number == len(rounds):
                sizes += _average(replicas)
        for replica in replicas:
            replica.network.epoch_count += 1
        scores.append(_accuracy(replicas[0].network, task))
    return _learned(scores, sizes[n * _FIRST_COUNTED :], replicas[0].network)


def learned(
    master: TrainingMaster, task: Task, n: int, seed: int, delay: int
) -> Learned:
    """Return what `n` replicas of a seed learn with a training master."""
    if isinstance(master, SharedTrainingMaster):
        return shared(master, task, n, seed, delay)
    if isinstance(master, ParameterAveragingTrainingMaster):
        return averaged(master, task, n, seed)
    raise TypeError(f"learned: no lockstep for a {type(master).__name__}.")


class _Averaging:
    """A replica whose parameters are averaged."""

    adds_up_gradients = False

    def __init__(self, task: Task, seed: int) -> None:
        self.network = MultiLayerNetwork(task.configuration(seed))
        self.examples = 0

    def updated(self, network: Any) -> None:
        """Do nothing."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Count the examples, by which the mean is weighted."""
        self.examples += examples


def _average(replicas: list[_Averaging]) -> list[int]:
    """Average all replicas; return the length of each one's message."""
    networks = [each.network for each in replicas]
    examples = [each.examples for each in replicas]
    iteration_count = max(network.iteration_count for network in networks)
    for name in ("params", "updater_state"):
        vectors = [getattr(network, name).copy() for network in networks]
        mean = np.empty_like(vectors[0])
        weighted_mean(vectors, examples, mean)
        for network in networks:
            getattr(network, name)[...] = mean
    for each in replicas:
        each.network.iteration_count = iteration_count
        each.examples = 0
    return [n.params.nbytes + n.updater_state.nbytes for n in networks]


def _orders(task: Task, seed: int) -> Iterator[list[Rows]]:
    """Yield what the minibatches of each epoch are made of."""
    rng = np.random.default_rng(seed)
    size, n = task.batch_size, len(task.train[0])
    for _ in range(task.epochs):
        order = rng.permutation(n)
        yield [order[start : start + size] for start in range(0, n, size)]


def _rounds(order: list[Rows], n: int) -> list[list[Rows]]:
    return [order[start : start + n] for start in range(0, len(order), n)]


def _fit(replica: Any, task: Task, rows: Rows) -> None:
    features, labels = task.train
    batch = DataSet(features[rows], labels[rows])
    replica.network.fit_minibatch(batch, exchange=replica)


def _agree(active: dict[int, Sharing]) -> None:
    proposals = {rank: each.proposal() for rank, each in active.items()}
    _deliver([*active.values()], proposals)
    for rank, each in active.items():
        each.agree(proposals[rank])


def _deliver(
    replicas: Iterable[Sharing], messages: dict[int, SharedUpdate | None]
) -> None:
    for rank, replica in enumerate(replicas):
        for sender, message in messages.items():
            if sender != rank and message is not None:
                replica.receive(sender, message)


def _accuracy(network: Any, task: Task) -> float:
    features, labels = task.test
    return float((network.output(features).argmax(1) == labels.argmax(1)).mean())


def _learned(scores: list[float], sizes: list[int], network: Any) -> Learned:
    return Learned(
        quarter=scores[len(scores) // 4 - 1],
        end=scores[-1],
        message_bytes=float(np.mean(sizes)) if sizes else float("nan"),
        dense_bytes=network.params.nbytes,
    )
