"""Parameter averaging as a process on the clock: rounds among all, by the real rule."""

from typing import Any

import numpy as np

from benchmarks.simulation.clock import Steps, Until
from benchmarks.simulation.worker import Worker
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.dense_round import DenseRound, RoundMessage, RoundSequence
from daskdl.cluster.masters.dense_sum import Contribution


class AveragingWorker(Worker):
    """A worker that averages with all others every few minibatches.

    Parameters
    ----------
    brain : object or None
        A :class:`~benchmarks.simulation.learner.Learner`; None learns nothing.
    members : frozenset of int
        Who takes part in the phase.
    shared : tuple
        What :class:`~benchmarks.simulation.worker.Worker` asks for.
    """

    def __init__(self, brain: Any, members: frozenset[int], *shared: Any) -> None:
        self.brain = brain
        self.peers = set(members)
        self._positions: dict[int, int] = {}
        super().__init__(*shared)
        self.peers.discard(self.rank)
        self._rounds = RoundSequence(self.rank)
        self._rounds.begin(0, self.peers)
        self._is_over = not self.peers
        if brain is not None:
            # Nobody to share updates with.
            brain.begin(frozenset())

    def hear_of_death(self, rank: int) -> None:
        """Go on without another worker."""
        self.peers.discard(rank)
        self._rounds.left(rank)
        self._process.wake()

    def _run(self) -> Steps:
        since_round = 0
        for _ in range(self.n_minibatches):
            yield from self._step()
            if self.brain is not None:
                self.brain.learn()
            since_round += 1
            if since_round == self.setting.averaging_frequency:
                yield from self._average(since_round)
                since_round = 0
        if since_round:
            yield from self._average(since_round)
        while not self._is_over:
            yield from self._average(0)
        over = self._rounds.over()
        if over is not None:
            yield from self._send_to(None, over)

    def _known(self) -> dict[int, int]:
        compared = self.peers.intersection(self.tally.compared)
        return {rank: self._positions.get(rank, 0) for rank in compared}

    def _average(self, since_round: int) -> Steps:
        params, state, iterations = self._vectors()
        own = Contribution(
            position=self.trained,
            remaining=self.n_minibatches - self.trained,
            minibatches=since_round,
            seconds=since_round * self.setting.step_ms / 1e3,
            examples=since_round * self.setting.batch_size,
            iteration_count=iterations,
        )
        current = self._rounds.start(own, [params, state], weighted_mean)
        while current.has_messages or current.waiting_for:
            if current.has_messages:
                message, to = current.next_message()
                yield from self._send_to(to, message)
            elif self._inbox:
                yield from self._drain()
            else:
                yield Until(float("inf"))
        yield from self._take_over(current, params.nbytes + state.nbytes)

    def _send_to(self, to: int | None, message: RoundMessage) -> Steps:
        # The next rank first: not all send to the same one.
        everybody = sorted(self.peers, key=lambda rank: (rank < self.rank, rank))
        for peer in everybody if to is None else [to]:
            yield from self._send(peer, message, _n_bytes(message))

    def _take_over(self, current: DenseRound, n_bytes: int) -> Steps:
        megabytes = n_bytes * len(self.peers | {self.rank}) / 1e6
        yield self.setting.costs.average_ms * megabytes / 1e3
        total = self._rounds.take()
        self._is_over = total.is_last
        told = total.contributions
        self._positions.update({rank: item.position for rank, item in told.items()})
        if self.brain is not None:
            iterations = max(item.iteration_count for item in told.values())
            self.brain.average(total.vectors, iterations)

    def _vectors(self) -> tuple[Any, Any, int]:
        if self.brain is not None:
            found: tuple[Any, Any, int] = self.brain.vectors()
            return found
        # Parameters and one vector of state, as momentum has.
        zeros = np.broadcast_to(np.float32(0), self.setting.n_params)
        return zeros, zeros, self.trained

    def _take(self, source: int, message: RoundMessage) -> None:
        self._rounds.receive(source, message)


def _n_bytes(message: RoundMessage) -> int:
    values = message.message.values
    if values is None:
        return 0
    return sum(one.nbytes for one in (values if isinstance(values, list) else [values]))
