"""The end of a training that got SIGTERM: with a checkpoint, if that comes soon."""

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType
from typing import Any

from daskdl.cli.exit_codes import Terminated
from daskdl.nn.fitting.events import EpochFinished, Event
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener

__all__ = ["GRACE_S", "GracefulEnd"]

# Schedulers of machines send SIGKILL 30 s after SIGTERM, and the cluster is yet to be
# released, which takes 10 s where a worker does not answer.
GRACE_S = 15.0


class GracefulEnd(Listener):
    """Ends a fit behind its next checkpoint once SIGTERM came. A context manager.

    A second SIGTERM ends it at once, as the first does while nothing is trained. Heard
    last, behind what writes checkpoints.

    Parameters
    ----------
    tell : callable
        Takes a line for people.
    grace_s : float
        How long the checkpoint may take to come; then the last one has to do, whatever
        the run waits for.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        grace_s: float = GRACE_S,
    ) -> None:
        self._tell = tell
        self._grace_s = grace_s
        self._trains = False
        self._latest: threading.Timer | None = None
        self._is_told = False
        self._before: Any = None

    def __enter__(self) -> "GracefulEnd":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._latest is not None:
            self._latest.cancel()
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._trains or self._latest is not None:
            raise Terminated
        # No step may come any more: all wait for a worker that does not answer.
        again = partial(os.kill, os.getpid(), signal.SIGTERM)
        self._latest = threading.Timer(self._grace_s, again)
        self._latest.daemon = True
        self._latest.start()

    def on_epoch_start(self, fit: Fit) -> None:
        """Begin to wait for checkpoints."""
        self._trains = True

    def iteration_done(self, fit: Fit) -> None:
        """Ask for a checkpoint."""
        if self._latest is None:
            return
        fit.want_checkpoint()
        if not self._is_told:
            self._is_told = True
            self._tell("SIGTERM came: the run ends with its next checkpoint")

    def on_standstill(self, fit: Fit) -> None:
        """End the fit within an epoch: the checkpoint is written."""
        if self._latest is not None and fit.position.positions:
            raise Terminated

    def on_event(self, event: Event) -> None:
        """End the fit behind an epoch."""
        if isinstance(event, EpochFinished):
            self._trains = False
            if self._latest is not None:
                raise Terminated
