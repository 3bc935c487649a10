"""Parameter averaging as a process on the clock: rounds among all, by the real rule."""

from typing import Any

import numpy as np

from benchmarks.simulation.clock import Steps, Until
from benchmarks.simulation.worker import Worker
from daskdl.cluster.masters.parameter_averaging import AveragingRound, RoundSnapshot

_NOTHING = np.empty(0, np.float32)


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
        self._round = 0
        self._current: AveragingRound | None = None
        self._early: list[tuple[int, RoundSnapshot]] = []
        super().__init__(*shared)
        self.peers.discard(self.rank)
        # Not known before the first round; see ParameterAveragingExchange.
        self._remaining = dict.fromkeys(self.peers, 1)
        if brain is not None:
            # Nobody to share updates with.
            brain.begin(frozenset())

    def hear_of_death(self, rank: int) -> None:
        """Go on without another worker."""
        self.peers.discard(rank)
        self._remaining.pop(rank, None)
        if self._current is not None:
            self._current.left(rank)
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
        while any(self._remaining.values()):
            yield from self._average(0)

    def _known(self) -> dict[int, int]:
        compared = self.peers.intersection(self.tally.compared)
        return {rank: self._positions.get(rank, 0) for rank in compared}

    def _average(self, since_round: int) -> Steps:
        own = self._snapshot(since_round)
        self._current = AveragingRound(self.rank, frozenset(self.peers), own)
        for rank, snapshot in self._early:
            self._take(rank, snapshot)
        self._early = []
        n_bytes = self._n_bytes(own)
        # The next rank first: not all send to the same one.
        for peer in sorted(self.peers, key=lambda rank: (rank < self.rank, rank)):
            yield from self._send(peer, own, n_bytes)
        while not self._is_complete(since_round):
            if self._inbox:
                yield from self._drain()
            else:
                yield Until(float("inf"))
        yield from self._end_round(n_bytes)

    def _is_complete(self, since_round: int) -> bool:
        if not since_round and not any(self._remaining.values()):
            return True
        return self._current is None or self._current.is_complete

    def _end_round(self, n_bytes: int) -> Steps:
        current, self._current = self._current, None
        if current is None or not current.is_complete:
            return
        megabytes = n_bytes * len(current.positions) / 1e6
        yield self.setting.costs.average_ms * megabytes / 1e3
        if self.brain is not None:
            self.brain.average(current)
        self._positions.update(current.positions)
        self._remaining = current.remaining
        self._round += 1

    def _snapshot(self, since_round: int) -> RoundSnapshot:
        params, state, iterations = (
            (_NOTHING, _NOTHING, self.trained)
            if self.brain is None
            else self.brain.vectors()
        )
        return RoundSnapshot(
            phase=0,
            round=self._round,
            position=self.trained,
            remaining=self.n_minibatches - self.trained,
            minibatches=since_round,
            seconds=since_round * self.setting.step_ms / 1e3,
            examples=since_round * self.setting.batch_size,
            iteration_count=iterations,
            params=params,
            updater_state=state,
        )

    def _n_bytes(self, snapshot: RoundSnapshot) -> int:
        if self.brain is not None:
            return int(snapshot.params.nbytes + snapshot.updater_state.nbytes)
        # Parameters and one vector of state, as momentum has.
        return 2 * 4 * self.setting.n_params

    def _take(self, source: int, message: RoundSnapshot) -> None:
        if self._current is not None and self._current.accepts(message):
            self._current.receive(source, message)
        elif message.round >= self._round:
            self._early.append((source, message))
