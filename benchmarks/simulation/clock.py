"""A clock that jumps from event to event, and what goes on by it."""

import heapq
import itertools
from collections.abc import Callable, Generator
from dataclasses import dataclass


@dataclass(frozen=True)
class Until:
    """What a process yields to sleep until it is woken, or until a time."""

    time_s: float


Steps = Generator[float | Until, None, None]


class Clock:
    """Runs what is due, in the order of times, and of calls where they are equal."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def at(self, time_s: float, happen: Callable[[], None]) -> None:
        """Let something happen at a time that is not over."""
        heapq.heappush(self._due, (time_s, next(self._numbers), happen))

    def step(self) -> bool:
        """Let the next thing happen; return whether there was one."""
        if not self._due:
            return False
        self.now_s, _, happen = heapq.heappop(self._due)
        happen()
        return True


class Process:
    """Steps that take time: each yields seconds, or :class:`Until`.

    Parameters
    ----------
    clock : Clock
        Its steps begin at once, by this clock.
    steps : generator
        What is done.
    """

    def __init__(self, clock: Clock, steps: Steps) -> None:
        self._clock = clock
        self._steps = steps
        self._turn = 0  # what was due for an older one is void
        self._sleeps = False
        self.is_done = False
        clock.at(clock.now_s, self._go_on_from(0))

    def wake(self) -> None:
        """End a sleep, at this time; nothing where there is none."""
        if self._sleeps:
            self._sleeps = False
            self._clock.at(self._clock.now_s, self._go_on_from(self._turn))

    def stop(self) -> None:
        """End for good, in the midst of whatever is done."""
        self._turn += 1
        self._sleeps = False
        self.is_done = True
        self._steps.close()

    def _go_on_from(self, turn: int) -> Callable[[], None]:
        return lambda: self._go_on() if turn == self._turn else None

    def _go_on(self) -> None:
        self._turn += 1
        try:
            wish = next(self._steps)
        except StopIteration:
            self.is_done = True
            return
        self._sleeps = isinstance(wish, Until)
        time_s = wish.time_s if isinstance(wish, Until) else self._clock.now_s + wish
        if time_s < float("inf"):
            self._clock.at(time_s, self._go_on_from(self._turn))
