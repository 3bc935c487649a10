"""Parameter averaging as a process on the clock: rounds among all, by the real rule."""

from collections.abc import Generator
from typing import Any

import numpy as np

from benchmarks.simulation.clock import Steps, Until
from benchmarks.simulation.worker import Worker
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.dense_round import DenseRound, RoundMessage, RoundSequence
from daskdl.cluster.masters.dense_sum import Contribution, Total


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
        self._since_round = 0
        self._sent: list[Any] = []  # into the round under way
        self._iterations = 0  # of our network, then
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
        for _ in range(self.n_minibatches):
            yield from self._step()
            if self.brain is not None:
                self.brain.learn()
            self._since_round += 1
            if self._rounds.current is not None:
                yield from self._poll(self._rounds.current)
            if self._since_round == self.setting.averaging_frequency:
                yield from self._take_part()
        yield from self._settle()
        while self._since_round or not self._is_over:
            yield from self._take_part()
            yield from self._settle()
        if self.setting.overlap:
            yield from self._average_states()
        over = self._rounds.over()
        if over is not None:
            yield from self._send_to(None, over)

    def _known(self) -> dict[int, int]:
        compared = self.peers.intersection(self.tally.compared)
        return {rank: self._positions.get(rank, 0) for rank in compared}

    def _take_part(self) -> Steps:
        """Bring what we have; with `overlap` its mean is taken later."""
        yield from self._settle()
        params, state, self._iterations = self._vectors()
        self._sent = [params] if self.setting.overlap else [params, state]
        examples = self._since_round * self.setting.batch_size
        started = self._rounds.start(self._own(examples), self._sent, weighted_mean)
        self._since_round = 0
        yield from self._poll(started)
        if not self.setting.overlap:
            yield from self._settle()

    def _average_states(self) -> Steps:
        """Average the updater states of all, by what each has trained."""
        _, state, _ = self._vectors()
        examples = self.n_minibatches * self.setting.batch_size
        started = self._rounds.start(self._own(examples), [state], weighted_mean)
        total = yield from self._conclude(started)
        if self.brain is not None and total.vectors is not None:
            self.brain.average_states(total.vectors[0])

    def _own(self, examples: int) -> Contribution:
        return Contribution(
            position=self.trained,
            remaining=self.n_minibatches - self.trained,
            minibatches=self._since_round,
            seconds=self._since_round * self.setting.step_ms / 1e3,
            examples=examples,
            iteration_count=self._iterations,
        )

    def _poll(self, current: DenseRound) -> Steps:
        """Go on with a round without waiting; take its mean if it is over."""
        yield from self._drain()
        while current.has_messages and self.lines.room_s(self.rank) <= self.clock.now_s:
            message, to = current.next_message()
            yield from self._send_to(to, message)
            yield from self._drain()
        if not (current.has_messages or current.waiting_for):
            yield from self._settle()

    def _settle(self) -> Steps:
        """Take the mean of the round under way, if there is one."""
        if self._rounds.current is None:
            return
        total = yield from self._conclude(self._rounds.current)
        self._is_over = total.is_last
        told = total.contributions
        self._positions.update({rank: item.position for rank, item in told.items()})
        if self.brain is not None:
            furthest = max(item.iteration_count for item in told.values())
            self.brain.carry_on(total.vectors, self._sent, furthest + self._since_round)

    def _conclude(self, current: DenseRound) -> Generator[float | Until, None, Total]:
        """Wait until a round is over, and take it."""
        while current.has_messages or current.waiting_for:
            if current.has_messages:
                message, to = current.next_message()
                yield from self._send_to(to, message)
            elif self._inbox:
                yield from self._drain()
            else:
                yield Until(float("inf"))
        total = self._rounds.take()
        n_bytes = sum(vector.nbytes for vector in total.vectors or ())
        megabytes = n_bytes * len(self.peers | {self.rank}) / 1e6
        yield self.setting.costs.average_ms * megabytes / 1e3
        return total

    def _send_to(self, to: int | None, message: RoundMessage) -> Steps:
        # The next rank first: not all send to the same one.
        everybody = sorted(self.peers, key=lambda rank: (rank < self.rank, rank))
        for peer in everybody if to is None else [to]:
            yield from self._send(peer, message, message.message.nbytes)

    def _vectors(self) -> tuple[Any, Any, int]:
        if self.brain is not None:
            found: tuple[Any, Any, int] = self.brain.vectors()
            return found
        # Parameters and one vector of state, as momentum has.
        zeros = np.broadcast_to(np.float32(0), self.setting.n_params)
        return zeros, zeros, self.trained

    def _take(self, source: int, message: RoundMessage) -> None:
        self._rounds.receive(source, message)
