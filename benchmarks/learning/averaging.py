"""Replicas that average their parameters, with or without an outer momentum."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.learning.replicas import (
    FIRST_COUNTED,
    Learned,
    Rows,
    accuracy,
    fit,
    learned_by,
    orders,
    rounds,
)
from benchmarks.learning.tasks import Task
from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.delayed_mean import carried_on
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
)
from daskdl.cluster.masters.outer_momentum import OuterMomentum


class Averaging:
    """A replica whose parameters are averaged; an exchange as its network sees it."""

    adds_up_gradients = False

    def __init__(self, network: Any) -> None:
        self.network = network
        self.examples = 0  # since its parameters were sent
        self.phase_examples = 0
        self.sent = network.params
        self.sent_iterations = 0

    def updated(self, network: Any) -> None:
        """Do nothing."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Count the examples, by which the mean is weighted."""
        self.examples += examples
        self.phase_examples += examples

    def send(self) -> None:
        """Note what is averaged."""
        self.sent = self.network.params.copy()
        self.sent_iterations = self.network.iteration_count
        self.examples = 0

    def go_on_from(self, mean: FloatArray) -> None:
        """Take a mean over, with what was trained since on top of it."""
        network = self.network
        onward = mean
        if self.examples:
            onward = carried_on(mean, network.params, self.sent, network.running_slots)
        network.params[...] = onward


@dataclass
class _UnderWay:
    """What replicas sent, and what it comes to."""

    mean: FloatArray
    iteration_count: int
    minibatches: int = 0  # trained since


class Together:
    """All replicas, which take rounds together.

    Parameters
    ----------
    master : ParameterAveragingTrainingMaster
        Their rule. Updater states are averaged, whatever it says.
    replicas : list of Averaging
    delay : int
        With `overlap`, after how many minibatches a mean arrives, where the master does
        not fix that; at the latest when the next round is full.
    """

    def __init__(
        self,
        master: ParameterAveragingTrainingMaster,
        replicas: list[Averaging],
        delay: int = 0,
    ) -> None:
        self.sizes: list[int] = []  # of messages, in bytes
        self._replicas = replicas
        self._every = master.averaging_frequency
        self._overlaps = master.overlap
        self._delay = self._every if master.dealing == "fixed" else delay
        self._outer = _outer(master, replicas)
        self._under_way: _UnderWay | None = None

    def fit_epoch(self, task: Task, order: list[Rows]) -> None:
        """Train the minibatches of an epoch."""
        for number, minibatches in enumerate(rounds(order, len(self._replicas)), 1):
            for replica, rows in zip(self._replicas, minibatches, strict=False):
                fit(replica, task, rows)
            if self._under_way is not None:
                self._under_way.minibatches += 1
                if self._under_way.minibatches >= self._delay:
                    self._take()
            if number % self._every == 0:
                self._average()
        self._end_phase()
        for replica in self._replicas:
            replica.network.epoch_count += 1

    def _end_phase(self) -> None:
        self._take()
        if any(replica.examples for replica in self._replicas):
            self._average()
            self._take()
        if self._overlaps and len(self._replicas) > 1:
            examples = [replica.phase_examples for replica in self._replicas]
            self.sizes += self._average_states(examples)
        for replica in self._replicas:
            replica.phase_examples = 0

    def _average(self) -> None:
        """Send what all have; take the mean now, unless training goes on meanwhile."""
        self._take()
        if len(self._replicas) == 1:
            return
        examples = [replica.examples for replica in self._replicas]
        networks = [replica.network for replica in self._replicas]
        self._under_way = _UnderWay(
            _mean([network.params for network in networks], examples),
            max(network.iteration_count for network in networks),
        )
        for replica in self._replicas:
            replica.send()
        sizes = np.array([network.params.nbytes for network in networks])
        if not self._overlaps:
            self._take()
            sizes += self._average_states(examples)
        self.sizes += sizes.tolist()

    def _take(self) -> None:
        if self._under_way is None:
            return
        onward = self._under_way.mean
        if self._outer is not None:
            onward = self._outer.step(onward)
            self._outer.begin(onward)
        for replica in self._replicas:
            replica.go_on_from(onward)
            since = replica.network.iteration_count - replica.sent_iterations
            replica.network.iteration_count = self._under_way.iteration_count + since
        self._under_way = None

    def _average_states(self, examples: list[int]) -> list[int]:
        """Average updater states; return how many bytes each one has."""
        states = [replica.network.updater_state for replica in self._replicas]
        mean = _mean(states, examples)
        for state in states:
            state[...] = mean
        return [state.nbytes for state in states]


def averaged(
    master: ParameterAveragingTrainingMaster,
    task: Task,
    n: int,
    seed: int,
    delay: int,
) -> Learned:
    """Return what `n` replicas learn that average their parameters.

    `delay` is that of :class:`Together`.
    """
    replicas = [Averaging(task.network(seed)) for _ in range(n)]
    together = Together(master, replicas, delay)
    scores = []
    for order in orders(task, seed):
        together.fit_epoch(task, order)
        scores.append(accuracy(replicas[0].network, task))
    sizes = together.sizes[n * FIRST_COUNTED :]
    return learned_by(replicas[0].network, scores, sizes)


def _outer(
    master: ParameterAveragingTrainingMaster, replicas: list[Averaging]
) -> OuterMomentum | None:
    """Return the outer momentum, which is that of each replica."""
    if not isinstance(master, BlockMomentumTrainingMaster):
        return None
    outer = OuterMomentum(master, replicas[0].network.running_slots)
    outer.begin(replicas[0].network.params)
    return outer


def _mean(vectors: list[FloatArray], examples: list[int]) -> FloatArray:
    mean: FloatArray = np.empty_like(vectors[0])
    weighted_mean(vectors, examples, mean)
    return mean
