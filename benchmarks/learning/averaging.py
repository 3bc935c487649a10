"""Replicas that average their parameters, with or without an outer momentum."""

from typing import Any

import numpy as np

from benchmarks.learning.replicas import (
    FIRST_COUNTED,
    Learned,
    accuracy,
    fit,
    learned_by,
    orders,
    rounds,
)
from benchmarks.learning.tasks import Task
from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
)
from daskdl.cluster.masters.outer_momentum import OuterMomentum


class Averaging:
    """A replica whose parameters are averaged; an exchange as its network sees it."""

    adds_up_gradients = False

    def __init__(self, task: Task, seed: int) -> None:
        self.network = task.network(seed)
        self.examples = 0

    def updated(self, network: Any) -> None:
        """Do nothing."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Count the examples, by which the mean is weighted."""
        self.examples += examples


def averaged(
    master: ParameterAveragingTrainingMaster, task: Task, n: int, seed: int
) -> Learned:
    """Return what `n` replicas learn that average their parameters."""
    replicas = [Averaging(task, seed) for _ in range(n)]
    outer = _outer(master, replicas)
    scores, sizes = [], []
    for order in orders(task, seed):
        all_rounds = rounds(order, n)
        for number, minibatches in enumerate(all_rounds, 1):
            for replica, rows in zip(replicas, minibatches, strict=False):
                fit(replica, task, rows)
            is_last = number == len(all_rounds)
            if n > 1 and (is_last or number % master.averaging_frequency == 0):
                sizes += _average(replicas, outer)
        for replica in replicas:
            replica.network.epoch_count += 1
        scores.append(accuracy(replicas[0].network, task))
    return learned_by(replicas[0].network, scores, sizes[n * FIRST_COUNTED :])


def _outer(
    master: ParameterAveragingTrainingMaster, replicas: list[Averaging]
) -> OuterMomentum | None:
    """Return the outer momentum, which is that of each replica."""
    if not isinstance(master, BlockMomentumTrainingMaster):
        return None
    outer = OuterMomentum(master, replicas[0].network.running_slots)
    outer.begin(replicas[0].network.params)
    return outer


def _average(replicas: list[Averaging], outer: OuterMomentum | None) -> list[int]:
    """Average all replicas; return the length of each one's message."""
    networks = [each.network for each in replicas]
    params = _mean(replicas, "params")
    if outer is not None:
        params = outer.step(params)
        outer.begin(params)
    state = _mean(replicas, "updater_state")
    iteration_count = max(network.iteration_count for network in networks)
    for replica in replicas:
        replica.network.params[...] = params
        replica.network.updater_state[...] = state
        replica.network.iteration_count = iteration_count
        replica.examples = 0
    return [n.params.nbytes + n.updater_state.nbytes for n in networks]


def _mean(replicas: list[Averaging], name: str) -> FloatArray:
    vectors = [getattr(each.network, name) for each in replicas]
    mean: FloatArray = np.empty_like(vectors[0])
    weighted_mean(vectors, [each.examples for each in replicas], mean)
    return mean
