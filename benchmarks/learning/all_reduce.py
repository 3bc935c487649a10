"""Replicas that add up their gradients before each update, whole or of low rank."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeAlias

import numpy as np

from benchmarks.learning.replicas import (
    Learned,
    accuracy,
    fit,
    learned_by,
    orders,
    rounds,
)
from benchmarks.learning.tasks import Task
from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.combining import plain_sum
from daskdl.cluster.masters.low_rank import matrices
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    PowerSGDTrainingMaster,
)
from daskdl.cluster.masters.power_sgd import PowerSgd
from daskdl.nn.network import Network

# Of each replica that has a minibatch, by rank: its gradients and their examples.
Brought: TypeAlias = dict[int, tuple[FloatArray, int]]


class _Whole:
    """Gradients that are added up as they are."""

    nbytes = 0  # that a replica brought last

    def add_up(self, brought: Brought, iteration: int) -> FloatArray:
        """Return the sum."""
        total = _sum([vector for vector, _ in brought.values()])
        self.nbytes = total.nbytes
        return total


class _LowRank(_Whole):
    """Gradients of which factors are added up: the rules of all replicas."""

    def __init__(
        self, master: PowerSGDTrainingMaster, network: Network[Any], n: int
    ) -> None:
        found = matrices(
            network.layout, master.matrix_rank, master.min_compression_rate
        )
        self._start = master.start_compress_iteration if n > 1 else math.inf
        self._rules = [
            PowerSgd(network.n_params, found, network.dtype) for _ in range(n)
        ]

    def add_up(self, brought: Brought, iteration: int) -> FloatArray:
        """Return the sum, or its approximation; it has the same bits for all."""
        if iteration < self._start:
            return super().add_up(brought, iteration)
        # Who has no minibatch follows, so that all have the same Q.
        nothing = np.zeros_like(next(iter(brought.values()))[0]), 0
        own = [brought.get(rank, nothing) for rank in range(len(self._rules))]
        firsts = [
            rule.first(*each) for rule, each in zip(self._rules, own, strict=True)
        ]
        left = _sum([firsts[rank] for rank in brought])
        seconds = [rule.second(left) for rule in self._rules]
        totals = [
            _sum(vectors)
            for vectors in zip(*(seconds[rank] for rank in brought), strict=True)
        ]
        self.nbytes = left.nbytes + sum(total.nbytes for total in totals)
        taken = [
            rule.take(totals, examples)
            for rule, (_, examples) in zip(self._rules, own, strict=True)
        ]
        return taken[0]


def _sum(vectors: Sequence[FloatArray]) -> FloatArray:
    total = np.empty_like(vectors[0])
    plain_sum(vectors, [], total)
    return total


class _Sum:
    """What replicas brought in this iteration, and what it comes to."""

    def __init__(self, n: int, way: _Whole) -> None:
        self.brought: Brought = {}
        self.examples = self.iteration = 0
        self.barrier = Barrier(n, self._add_up)
        self._way = way

    def _add_up(self) -> None:
        in_turn = dict(sorted(self.brought.items()))
        self.gradients = self._way.add_up(in_turn, self.iteration)
        self.examples = sum(examples for _, examples in in_turn.values())


class AddingUp:
    """A replica whose gradients are added up; an exchange as its network sees it."""

    adds_up_gradients = True

    def __init__(self, task: Task, seed: int, rank: int) -> None:
        self.network = task.network(seed)
        self.sum: _Sum
        self._rank = rank

    def gradients(self, network: Any, examples: int) -> int:
        """Bring what this replica has; a barrier makes it all of them."""
        self.sum.brought[self._rank] = network.gradients.copy(), examples
        self.sum.iteration = network.iteration_count
        self.sum.barrier.wait()
        network.gradients[...] = self.sum.gradients
        return self.sum.examples

    def updated(self, network: Any) -> None:
        """Do nothing."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Do nothing."""

    def follow(self) -> None:
        """Learn what the others brought."""
        self.network.gradients[...] = self.sum.gradients
        self.network.learn(self.sum.examples)
        self.network.finish_iteration()


def added_up(master: AllReduceTrainingMaster, task: Task, n: int, seed: int) -> Learned:
    """Return what `n` replicas learn that add up their gradients."""
    replicas = [AddingUp(task, seed, rank) for rank in range(n)]
    way = _Whole()
    if isinstance(master, PowerSGDTrainingMaster):
        way = _LowRank(master, replicas[0].network, n)
    scores, sizes = [], []
    with ThreadPoolExecutor(n) as pool:
        for order in orders(task, seed):
            for minibatches in rounds(order, n):
                together = _Sum(len(minibatches), way)
                for replica in replicas:
                    replica.sum = together
                training = [
                    pool.submit(fit, replica, task, rows)
                    for replica, rows in zip(replicas, minibatches, strict=False)
                ]
                for one in training:
                    one.result()
                for replica in replicas[len(minibatches) :]:
                    replica.follow()
                sizes += [way.nbytes] * (n > 1)
            for replica in replicas:
                replica.network.epoch_count += 1
            scores.append(accuracy(replicas[0].network, task))
    # The first ones may be whole gradients.
    return learned_by(replicas[0].network, scores, sizes[len(sizes) // 2 :])
