"""One simulation from its beginning to its figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.simulation.averaging import AveragingWorker
from benchmarks.simulation.brains import Positions, StandIn, TreeStandIn
from benchmarks.simulation.clock import Clock
from benchmarks.simulation.lines import Lines
from benchmarks.simulation.setting import AVERAGING, MESH, Setting
from benchmarks.simulation.sharing import PlainWorker, TreeWorker
from benchmarks.simulation.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a simulation says.

    Attributes
    ----------
    setting : Setting
        What was simulated.
    time_s : float
        Of all phases.
    examples : int
        Trained in that time, by workers that died as well.
    bytes_sent, bytes_crossed : int
        By all workers, and of these from host to host.
    minibatches : int
        By all workers.
    mean_late, most_late : float, int
        Minibatches of another worker that a gradient did not see.
    survivors : tuple of int
        Workers that did not die.
    """

    setting: Setting
    time_s: float
    examples: int
    bytes_sent: int
    bytes_crossed: int
    minibatches: int
    mean_late: float
    most_late: int
    survivors: tuple[int, ...]

    @property
    def per_s(self) -> float:
        """Examples a second."""
        return self.examples / self.time_s

    @property
    def efficiency(self) -> float:
        """Examples a second, by those of as many workers that know of nobody."""
        one = self.setting.batch_size / (self.setting.step_ms / 1e3)
        return self.per_s / (one * self.setting.workers)

    @property
    def step_ms(self) -> float:
        """How long a minibatch of a worker took, with all that went with it."""
        each = self.minibatches / self.setting.workers
        return self.time_s * 1e3 / each

    @property
    def kib_a_minibatch(self) -> float:
        """What a worker sent in a minibatch, in the mean."""
        return self.bytes_sent / self.minibatches / 1024

    @property
    def crossed_kib_a_minibatch(self) -> float:
        """What of it went from host to host."""
        return self.bytes_crossed / self.minibatches / 1024


class Simulation:
    """Workers, lines and a clock.

    Parameters
    ----------
    setting : Setting
        What is simulated.
    learners : sequence of Learner, optional
        One for each worker; without them nothing is learned.
    """

    def __init__(self, setting: Setting, learners: Sequence[Any] = ()) -> None:
        self.setting = setting
        self._learners = learners
        self._clock = Clock()
        self._tally = Tally(setting.workers)
        self._lines = Lines(self._clock, setting, self._deliver)
        self._workers: dict[int, Any] = {}
        self._dead: set[int] = set()
        self._positions = Positions()

    def run(self, phases: int = 1) -> Outcome:
        """Simulate some phases, one after the other, and return the figures.

        Raises
        ------
        RuntimeError
            When the workers wait for each other for ever.
        """
        for rank, time_s in self.setting.deaths:
            self._clock.at(time_s, partial(self._die, rank))
        ended_s = 0.0
        for _ in range(phases):
            self._begin_phase()
            ended_s = self._run_phase()
        minibatches = sum(self._tally.minibatches)
        return Outcome(
            setting=self.setting,
            time_s=ended_s,
            examples=minibatches * self.setting.batch_size,
            bytes_sent=sum(self._lines.sent_bytes),
            bytes_crossed=self._lines.crossed_bytes,
            minibatches=minibatches,
            mean_late=self._tally.mean_late,
            most_late=self._tally.most_late,
            survivors=tuple(self._workers.keys() - self._dead),
        )

    def _begin_phase(self) -> None:
        members = frozenset(range(self.setting.workers)) - self._dead
        self._lines.phase += 1
        self._tally.begin(members)
        self._workers = {rank: self._worker(rank, members) for rank in sorted(members)}

    def _worker(self, rank: int, members: frozenset[int]) -> Any:
        learner = self._learners[rank] if self._learners else None
        n_minibatches = self.setting.minibatches
        if learner is not None:
            n_minibatches = len(learner.minibatches)
        shared = (
            rank,
            self.setting,
            self._clock,
            self._lines,
            self._tally,
            n_minibatches,
        )
        if self.setting.master == AVERAGING:
            return AveragingWorker(learner, members, *shared)
        if self.setting.topology == MESH:
            stand_in = TreeStandIn(rank, self.setting, self._positions)
            return TreeWorker(learner or stand_in, members, *shared)
        return PlainWorker(learner or StandIn(rank, self.setting), members, *shared)

    def _run_phase(self) -> float:
        """Go on until all that are alive have ended the phase; return when that was."""
        while self._tally.open:
            if not self._clock.step():
                waiting = sorted(self._tally.open)
                raise RuntimeError(
                    f"Simulation: all workers must end their phase, got "
                    f"{waiting[:5]} ({len(waiting)}) that wait for ever."
                )
        return self._clock.now_s

    def _deliver(self, source: int, target: int, message: Any, n_bytes: int) -> None:
        if target in self._workers:
            self._workers[target].deliver(source, message, n_bytes)

    def _die(self, rank: int) -> None:
        if rank in self._dead or len(self._workers) - len(self._dead) == 1:
            return
        self._dead.add(rank)
        self._workers[rank].die()
        known_s = max(self._clock.now_s, self._lines.cut(rank)) + self.setting.notice_s
        self._clock.at(known_s, partial(self._tell_of, rank))

    def _tell_of(self, rank: int) -> None:
        for other, worker in self._workers.items():
            if other not in self._dead:
                worker.hear_of_death(rank)
