"""Replicas that share updates, whose messages arrive a number of rounds later."""

from collections.abc import Iterable
from typing import Any

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
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.shared_update import SharedUpdate


class Sharing:
    """A replica that shares updates; an exchange as its network sees it."""

    adds_up_gradients = False

    def __init__(
        self, master: SharedTrainingMaster, task: Task, rank: int, n: int, seed: int
    ) -> None:
        self.network = task.network(seed)
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
        self._peer.heed_staleness(network.gradients, self._position)
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
    for order in orders(task, seed):
        on_their_way: list[dict[int, SharedUpdate | None]] = []
        for replica in replicas:
            replica.begin()
        for minibatches in rounds(order, n):
            active = dict(enumerate(replicas[: len(minibatches)]))
            for replica, rows in zip(active.values(), minibatches, strict=True):
                fit(replica, task, rows)
            if not has_agreed:
                _agree(active)
                has_agreed = True
            on_their_way.append({r: each.message() for r, each in active.items()})
            if len(on_their_way) > delay:
                _deliver(replicas, on_their_way.pop(0))
        for messages in on_their_way:
            _deliver(replicas, messages)
        if n > 1:
            _deliver(replicas, {r: each.last() for r, each in enumerate(replicas)})
        for replica in replicas:
            replica.end()
        scores.append(accuracy(replicas[0].network, task))
    counted = [b for each in replicas for b in each.message_bytes[FIRST_COUNTED:]]
    return learned_by(replicas[0].network, scores, counted)


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
