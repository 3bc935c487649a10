"""Threads that run one at a time, in an order that a seed decides, on a clock of ours.

Real code that blocks becomes repeatable: a thread gives up its turn wherever it would
wait, and the world chooses who goes on, which message arrives and what goes wrong.
"""

import random
import threading
from collections.abc import Callable
from typing import Any

STEP_S = 0.002


class Killed(BaseException):
    """The worker of this thread was killed; nothing may catch it."""


class Stuck(Exception):
    """Nobody can go on, and nobody waits for a time-out either."""


def taken_lock() -> threading.Lock:
    """Return what one thread waits for and another gives; a semaphore costs more."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class Actor:
    """One thread that runs only while it has the turn."""

    def __init__(self, world: "World", name: str, body: Callable[[], Any]) -> None:
        self.name = name
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False
        self.is_killed = False
        self.ready: Callable[[], bool] = lambda: True
        self.deadline = float("inf")
        self._world = world
        self._body = body
        self._go = taken_lock()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def can_go(self) -> bool:
        if self.is_done:
            return False
        return self.is_killed or self._world.now >= self.deadline or self.ready()

    def take_turn(self) -> None:
        self._go.release()
        self._world.turn_over.acquire()

    def wait(self, ready: Callable[[], bool], timeout_s: float) -> None:
        self.ready, self.deadline = ready, self._world.now + timeout_s
        self._world.turn_over.release()
        self._go.acquire()
        if self.is_killed:
            raise Killed(self.name)

    def end(self) -> None:
        """Kill the thread, and wait until it is gone."""
        self.is_killed = True
        while not self.is_done:
            self.take_turn()
        self._thread.join()

    def _main(self) -> None:
        self._go.acquire()
        self._world.local.actor = self
        try:
            if not self.is_killed:
                self.result = self._body()
        except BaseException as error:  # noqa: BLE001
            # Killed as well: the world must get its turn back.
            self.error = error
        self.is_done = True
        self._world.turn_over.release()


class World:
    """Chooses who goes on. Also stands in for the module ``time``."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.steps = 0
        self.turn_over = taken_lock()
        self.local = threading.local()
        self.actors: list[Actor] = []
        self.deliveries: Callable[[], list[Callable[[], None]]] = list
        self._news: list[tuple[int, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def spawn(self, name: str, body: Callable[[], Any]) -> Actor:
        actor = Actor(self, name, body)
        self.actors.append(actor)
        return actor

    def wait(self, ready: Callable[[], bool], timeout_s: float = float("inf")) -> None:
        """Give up the turn until `ready`, or until the time is over."""
        self.local.actor.wait(ready, timeout_s)

    def pause(self) -> None:
        """Give up the turn, so that anything may happen here."""
        self.wait(lambda: True)

    def later(self, happen: Callable[[], None], within_steps: int = 30) -> None:
        """Let something happen after a random number of steps."""
        self._news.append((self.steps + self.rng.randrange(within_steps), happen))

    def run(self, until: Callable[[], bool]) -> None:
        while not until():
            self._step()

    def close(self) -> None:
        for actor in self.actors:
            actor.end()

    def _step(self) -> None:
        self.steps += 1
        self.now += STEP_S
        due = [entry for entry in self._news if entry[0] <= self.steps]
        self._news = [entry for entry in self._news if entry[0] > self.steps]
        for _, happen in due:
            happen()
        choices = [actor.take_turn for actor in self.actors if actor.can_go()]
        choices += self.deliveries()
        if choices:
            self.rng.choice(choices)()
        elif not self._news:
            self._skip_to_the_next_deadline()

    def _skip_to_the_next_deadline(self) -> None:
        deadlines = [actor.deadline for actor in self.actors if not actor.is_done]
        soonest = min(deadlines, default=float("inf"))
        if soonest == float("inf"):
            raise Stuck([actor.name for actor in self.actors if not actor.is_done])
        self.now = max(self.now, soonest)
