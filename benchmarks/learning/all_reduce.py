"""Replicas that add up their gradients before each update."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

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


class _Sum:
    """What replicas brought in this iteration, and what it comes to."""

    def __init__(self, n: int) -> None:
        self.brought: dict[int, tuple[FloatArray, int]] = {}
        self.examples = 0
        self.barrier = Barrier(n, self._add_up)

    def _add_up(self) -> None:
        in_turn = [brought for _, brought in sorted(self.brought.items())]
        vectors, examples = zip(*in_turn, strict=True)
        self.gradients = np.empty_like(vectors[0])
        plain_sum(vectors, examples, self.gradients)
        self.examples = sum(examples)


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


def added_up(task: Task, n: int, seed: int) -> Learned:
    """Return what `n` replicas learn that add up their gradients."""
    replicas = [AddingUp(task, seed, rank) for rank in range(n)]
    scores, sizes = [], []
    with ThreadPoolExecutor(n) as pool:
        for order in orders(task, seed):
            for minibatches in rounds(order, n):
                together = _Sum(len(minibatches))
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
                sizes += [replicas[0].network.gradients.nbytes] * (n > 1)
            for replica in replicas:
                replica.network.epoch_count += 1
            scores.append(accuracy(replicas[0].network, task))
    return learned_by(replicas[0].network, scores, sizes)
