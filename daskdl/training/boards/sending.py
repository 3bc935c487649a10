"""Numbers on their way to a server, sent by a thread of their own.

A server that is away costs minutes a request. Training does not wait for it, and does
not end over it: what it does not take is counted, and told once.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from daskdl.data.retries import in_words

__all__ = ["End", "Point", "Sender"]

logger = logging.getLogger(__name__)

# People look every few seconds; a request for each minibatch would be too many.
_SEND_EVERY_S = 3.0
# A client that retries took minutes already; a server that is started again takes some.
_AGAIN_S = 30.0
# At the end somebody waits.
_AGAIN_AT_END_S = 1.0
# Some 20 MB, which wait while a server is away.
MOST_POINTS = 100_000
_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True)
class Point:
    """A number of a curve; `time_ms` since 1970."""

    name: str
    value: float
    step: int
    time_ms: int


@dataclass(frozen=True)
class End:
    """How a run ended: its status, why, and a directory of files to be stored."""

    status: str
    reason: str = ""
    directory: str | None = None


class Run(Protocol):
    """What a server knows of a run; each call may wait for long, and may fail."""

    most_points: int
    run_id: str | None

    def open(self, parameters: Mapping[str, str]) -> None:
        """Find the run or make it."""

    def send(self, points: Iterable[Point]) -> None:
        """Send numbers; some may have been sent before."""

    def end(self, end: End) -> Exception | None:
        """End the run; returned is what kept its files from being stored."""

    def is_refusal(self, error: Exception) -> bool:
        """Tell whether the same would be refused again."""


class Sender:
    """Sends what a fit tells to one run, in a thread that ends with the process.

    Parameters
    ----------
    who : str
        For warnings.
    run : Run
        Called in that thread alone.
    parameters : mapping of str to str
        Told when the run is opened.
    """

    def __init__(self, who: str, run: Run, parameters: Mapping[str, str]) -> None:
        self._who, self._run, self._parameters = who, run, parameters
        self._changed = threading.Condition()
        self._points: deque[Point] = deque()
        self._lost = 0
        self._end: End | None = None
        self._is_open = self._is_ended = False
        self._is_end_tried = self._is_given_up = False
        self._reason = ""  # why something failed last
        # A daemon: a process that is done does not wait for a server that is away.
        self._thread = threading.Thread(target=self._work, name=who, daemon=True)
        self._thread.start()

    def add(self, values: Mapping[str, float], step: int) -> None:
        """Have numbers sent soon; of too many that wait those that come are lost."""
        time_ms = time.time_ns() // 1_000_000
        points = [Point(name, float(values[name]), step, time_ms) for name in values]
        with self._changed:
            if len(self._points) < MOST_POINTS:
                self._points.extend(points)
            else:
                self._lost += len(points)
            if len(self._points) >= self._run.most_points:
                self._changed.notify()

    def close(self, end: End, wait_s: float) -> None:
        """Send what waits and end the run; warn of what could not be sent in time.

        Parameters
        ----------
        end : End
        wait_s : float
            How long to wait. Then nothing more is sent, but for the request that is on
            its way.
        """
        with self._changed:
            self._end = end
            self._changed.notify()
        try:
            self._thread.join(wait_s)
        finally:
            with self._changed:
                self._is_given_up = True
                self._changed.notify()
        lost = self._lost + len(self._points)
        if lost or not self._is_ended:
            logger.warning(
                "%s: %d numbers were not sent%s: %s",
                self._who,
                lost,
                "" if self._is_ended else f", nor that the run is {end.status}",
                self._reason or f"no answer in {wait_s:g} s",
            )

    def _work(self) -> None:
        wait_s = 0.0
        with _retries_not_logged():
            while not self._is_ended and self._wait(wait_s):
                wait_s = _SEND_EVERY_S
                try:
                    self._send()
                except Exception as error:  # noqa: BLE001 - whatever it is, fits go on
                    self._warn("numbers wait", error)
                    if self._is_end_tried and self._run.is_refusal(error):
                        return
                    wait_s = _AGAIN_AT_END_S if self._is_end_tried else _AGAIN_S

    def _wait(self, wait_s: float) -> bool:
        """Wait for the time, many points or the end; return whether to go on."""
        is_away = wait_s != _SEND_EVERY_S

        def is_time() -> bool:
            ends = self._end is not None and not self._is_end_tried
            are_many = not is_away and len(self._points) >= self._run.most_points
            return self._is_given_up or ends or are_many

        with self._changed:
            self._changed.wait_for(is_time, wait_s)
            return not self._is_given_up

    def _send(self) -> None:
        end = self._end
        self._is_end_tried = end is not None
        if not self._is_open:
            self._run.open(self._parameters)
            self._is_open = True
        while points := self._first():
            self._send_points(points)
        if end is None or self._is_given_up:
            return
        error = self._run.end(end)
        self._is_ended = True
        if error is not None:
            logger.warning("%s: files were not stored: %s", self._who, _told(error))

    def _first(self) -> list[Point]:
        with self._changed:
            if self._is_given_up:
                return []
            return list(islice(self._points, self._run.most_points))

    def _send_points(self, points: list[Point]) -> None:
        lost = 0
        try:
            self._run.send(points)
        except Exception as error:
            if not self._run.is_refusal(error):
                raise
            self._warn("numbers were refused", error)
            lost = len(points)
        with self._changed:
            self._lost += lost
            for _ in points:
                self._points.popleft()

    def _warn(self, what: str, error: Exception) -> None:
        first, self._reason = not self._reason, _told(error)
        # Once: a server that is away for hours fills no log. Who gave up told it.
        is_new = first and not self._is_given_up
        level = logging.WARNING if is_new else logging.DEBUG
        logger.log(
            level, "%s: %s, the training goes on: %s", self._who, what, self._reason
        )


def _told(error: Exception) -> str:
    # A proxy answers with a page of HTML.
    return " ".join(in_words(error).split())[:_MESSAGE_CHARACTERS]


@contextmanager
def _retries_not_logged() -> Iterator[None]:
    """Keep the client's warnings of each of its tries from the log, in this thread."""
    here = threading.get_ident()
    client = logging.getLogger("urllib3.connectionpool")

    def is_elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != here

    client.addFilter(is_elsewhere)
    try:
        yield
    finally:
        client.removeFilter(is_elsewhere)
