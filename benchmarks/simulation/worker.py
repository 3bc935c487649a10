"""What all simulated workers do: steps, an inbox, and time for each message."""

import random
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from benchmarks.simulation.clock import Clock, Process, Steps, Until
from benchmarks.simulation.lines import Lines
from benchmarks.simulation.setting import Setting
from benchmarks.simulation.tally import Tally


class Worker(ABC):
    """One worker in one phase.

    Parameters
    ----------
    rank : int
        Its number.
    setting, clock, lines, tally
        What all workers share.
    n_minibatches : int
        That it trains.
    """

    def __init__(
        self,
        rank: int,
        setting: Setting,
        clock: Clock,
        lines: Lines,
        tally: Tally,
        n_minibatches: int,
    ) -> None:
        self.rank = rank
        self.setting = setting
        self.clock = clock
        self.lines = lines
        self.tally = tally
        self.n_minibatches = n_minibatches
        self.trained = 0
        self.is_dead = False
        self._inbox: deque[tuple[int, Any, int]] = deque()
        self._rng = random.Random(f"{setting.seed} {rank} {clock.now_s}")
        self._process = Process(clock, self._phase())

    @property
    def is_done(self) -> bool:
        """Whether it has ended the phase."""
        return self._process.is_done

    def deliver(self, source: int, message: Any, n_bytes: int) -> None:
        """Put a message into the inbox."""
        if not self.is_dead:
            self._inbox.append((source, message, n_bytes))
            self._process.wake()

    def die(self) -> None:
        """Stop, whatever it is at."""
        self.is_dead = True
        self._process.stop()
        self.tally.open.discard(self.rank)
        self._inbox.clear()

    def _phase(self) -> Steps:
        yield from self._run()
        self.tally.open.discard(self.rank)

    @abstractmethod
    def hear_of_death(self, rank: int) -> None:
        """Go on without another worker."""

    @abstractmethod
    def _run(self) -> Steps: ...

    @abstractmethod
    def _known(self) -> dict[int, int]:
        """Return minibatches of others that are known here, of those compared."""

    @abstractmethod
    def _take(self, source: int, message: Any) -> None: ...

    def _step(self) -> Steps:
        """Compute a gradient: nothing is taken in meanwhile."""
        mean_s = self.setting.step_ms / 1e3 * self.setting.slowness(self.rank)
        spread = self._rng.gauss(1.0, self.setting.jitter)
        known = self._known() if self.rank in self.tally.compared else {}
        yield mean_s * max(spread, 0.1)
        self.tally.look(known)
        self.trained += 1
        self.tally.trained(self.rank)

    def _send(self, target: int, message: Any, n_bytes: int) -> Steps:
        costs = self.setting.costs
        yield (costs.send_ms + costs.megabyte_ms * n_bytes / 1e6) / 1e3
        while self.lines.room_s(self.rank) > self.clock.now_s:
            yield Until(self.lines.room_s(self.rank))
        self.lines.send(self.rank, target, message, n_bytes)

    def _drain(self) -> Steps:
        """Take in what has come; meanwhile more may come."""
        costs = self.setting.costs
        while self._inbox:
            source, message, n_bytes = self._inbox.popleft()
            yield (costs.take_ms + costs.megabyte_ms * n_bytes / 1e6) / 1e3
            self._take(source, message)
            yield from self._answer()

    def _answer(self) -> Steps:
        """Send what a message asked for."""
        yield from ()
