"""The fits that the page in Dask's dashboard shows. Pure but for the clock.

They are kept by the scheduler, which has more to do: of fits that run no more is kept
than is shown, and one that has ended is a page that was drawn and compressed.
"""

import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from daskdl.nn.fitting.curve import Curve
from daskdl.nn.fitting.events import (
    EpochFinished,
    Event,
    FitReport,
    FitStarted,
    Progress,
    SpansMeasured,
)

__all__ = ["EndedFit", "KeptFits", "RunningFit"]

MOST_RUNNING = 16
# Of all fits that run, together. One has 400 bins, which take up to 120 kB.
MOST_LANES = 256
# Workers that went and came, as many as a table may have; the last ones are kept.
MOST_ROWS = 200
MOST_ENDED = 8
KEPT_S = 3600.0


@dataclass
class RunningFit:
    """What is known of a fit that runs.

    Attributes
    ----------
    number : int
        Its place in the order of fits, from 1.
    client : str
        Whose it is.
    title : str
    began_s : float
        On the clock of :class:`KeptFits`.
    began_at : float
        Seconds since 1970.
    started : FitStarted or None
    progress : Progress or None
        The last one.
    report : FitReport
        Of what was told, without residuals.
    """

    number: int
    client: str
    title: str
    began_s: float
    began_at: float
    started: FitStarted | None = None
    progress: Progress | None = None
    report: FitReport = field(default_factory=FitReport)

    def __post_init__(self) -> None:
        self._lanes: set[int] = set()
        self.report.epochs = Curve()

    @property
    def n_lanes(self) -> int:
        """Workers whose lanes are kept, those that went among them."""
        return len(self._lanes)

    @property
    def epoch(self) -> int:
        """The epoch that runs, from 1."""
        done = self.report.epochs[-1].epoch if self.report.epochs else 0
        return max(self.progress.epoch if self.progress else 1, done)

    def take(self, event: Event, *, most_lanes: int) -> None:
        """Take in an event; no spans of workers for which there is no lane left."""
        if isinstance(event, SpansMeasured):
            if event.member not in self._lanes and self.n_lanes >= most_lanes:
                return
            self._lanes.add(event.member)
        if isinstance(event, FitStarted):
            self.started = event
        elif isinstance(event, Progress):
            self.progress = event
        self.report.add(event)
        self._trim()

    def _trim(self) -> None:
        report = self.report
        if not isinstance(report.epochs, Curve):
            # Epochs that are trained again were taken out, into a list.
            report.epochs = Curve[EpochFinished](report.epochs)
        for rows in (
            report.lost,
            report.joined,
            report.rejoined,
            report.left_out,
            report.failed_checkpoints,
        ):
            del rows[:-MOST_ROWS]


@dataclass(frozen=True)
class EndedFit:
    """A fit that has ended, as the page that was drawn of it."""

    number: int
    title: str
    how: str
    began_at: float
    took_s: float
    ended_s: float
    packed: bytes

    @property
    def page(self) -> str:
        """The page, HTML."""
        return zlib.decompress(self.packed).decode()


class KeptFits:
    """The fits that run, and the last ones that have ended.

    Parameters
    ----------
    draw : function of (RunningFit, how, seconds)
        Returns the page of a fit that ends.
    clock : function
        Returns seconds.

    Attributes
    ----------
    running : dict of str to RunningFit
        By session.
    ended : list of EndedFit
        The last one first.
    left_out : int
        Fits that began while as many ran as are shown, since none did.
    """

    def __init__(
        self,
        draw: Callable[[RunningFit, str, float], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._draw = draw
        self.clock = clock
        self.running: dict[str, RunningFit] = {}
        self.ended: list[EndedFit] = []
        self.left_out = 0
        self._begun = 0

    def begin(self, session: str, client: str, title: str) -> bool:
        """Take in a fit; False if too many run for it to be shown."""
        if len(self.running) >= MOST_RUNNING:
            self.left_out += 1
            return False
        self._begun += 1
        self.running[session] = RunningFit(
            self._begun, client, title, self.clock(), time.time()
        )
        return True

    def take(self, session: str, events: Iterable[Event]) -> bool:
        """Take in events of a fit; False if it is not there."""
        fit = self.running.get(session)
        if fit is None:
            return False
        others = sum(one.n_lanes for one in self.running.values()) - fit.n_lanes
        for event in events:
            fit.take(event, most_lanes=MOST_LANES - others)
        return True

    def end(self, session: str, how: str) -> None:
        """Keep a fit as a page from now on; `how` it ended, in words."""
        fit = self.running.pop(session, None)
        if fit is None:
            return
        if not self.running:
            self.left_out = 0
        now = self.clock()
        took_s = now - fit.began_s
        packed = zlib.compress(self._draw(fit, how, took_s).encode())
        self.ended.insert(
            0,
            EndedFit(fit.number, fit.title, how, fit.began_at, took_s, now, packed),
        )
        del self.ended[MOST_ENDED:]

    def end_of_client(self, client: str) -> None:
        """End all fits of a client that is gone."""
        gone = [name for name, fit in self.running.items() if fit.client == client]
        for name in gone:
            self.end(name, "its client is gone")

    def forget(self) -> float | None:
        """Drop what ended long ago; return in how many seconds to look again.

        None if nothing is left.
        """
        now = self.clock()
        self.ended = [fit for fit in self.ended if now - fit.ended_s < KEPT_S]
        if self.ended:
            return KEPT_S - (now - self.ended[-1].ended_s)
        return KEPT_S if self.running else None
