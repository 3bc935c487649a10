"""Show how a fit goes: a live line on a terminal, plain lines elsewhere."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from daskdl.cli.run_metrics import in_words, size_in_words
from daskdl.nn.fitting import events
from daskdl.nn.fitting.listener import Listener

__all__ = ["LiveView", "PlainView", "View", "open_view", "starting"]

_PLAIN_LINE_EVERY_S = 5.0


class View(Listener):
    """Something that shows events to a person."""

    def note(self, text: str) -> None:
        """Show a line that stays."""
        raise NotImplementedError

    def begin(self, text: str) -> None:
        """Show what is done first, where that goes away again."""


@contextlib.contextmanager
def open_view(console: Console) -> Iterator[View]:
    """Open the view that fits the console, and leave the terminal in order.

    Warnings of daskdl's own log are shown in it, once; beside it they would tear up a
    live line.
    """
    with contextlib.ExitStack() as stack:
        view: View = (
            stack.enter_context(LiveView(console))
            if console.is_terminal
            else PlainView(console)
        )
        handler = _Warnings(view)
        logger = logging.getLogger("daskdl")
        logger.addHandler(handler)
        stack.callback(logger.removeHandler, handler)
        yield view


class _Warnings(logging.Handler):
    def __init__(self, view: View) -> None:
        super().__init__(logging.WARNING)
        self._view = view

    def emit(self, record: logging.LogRecord) -> None:
        self._view.note(f"warning: {record.getMessage()}")


class PlainView(View):
    """Lines for a log: events, and every few seconds the progress.

    Parameters
    ----------
    console : Console
        Where the lines go.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._clock = clock
        self._lines = EventLines()
        self._next_s = clock()

    def note(self, text: str) -> None:
        """Print the line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def on_event(self, event: events.Event) -> None:
        """Print a line, unless it is progress and the last line is recent."""
        if isinstance(event, events.Progress):
            if self._clock() < self._next_s:
                return
            self._next_s = self._clock() + _PLAIN_LINE_EVERY_S
        if text := self._lines.text(event):
            self.note(text)


class LiveView(View):
    """A bar an epoch that moves, with events above it. A context manager.

    Until a fit has begun, and where there is none, something moves, with the
    seconds beside it.
    """

    def __init__(self, console: Console) -> None:
        self._lines = EventLines()
        self._bar = Progress(
            TextColumn("{task.fields[epoch]}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}"),
            console=console,
            transient=True,
        )
        # Without a total it moves by itself.
        self._waiting = self._bar.add_task("wait", total=None, epoch="", detail="")
        self._task: TaskID | None = None
        self._examples = 0

    def __enter__(self) -> "LiveView":
        self._bar.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.stop()

    def begin(self, text: str) -> None:
        """Show it beside what moves."""
        self._bar.update(self._waiting, epoch=text)

    def note(self, text: str) -> None:
        """Print the line above the bar."""
        self._bar.update(self._waiting, epoch="")
        self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def on_event(self, event: events.Event) -> None:
        """Move the bar, or print a line."""
        text = self._lines.text(event)
        if isinstance(event, events.FitStarted):
            self._bar.update(self._waiting, visible=False)
            self._task = self._bar.add_task(
                "fit", total=event.examples, epoch="epoch 1", detail=""
            )
        if isinstance(event, events.FitFinished) and self._task is not None:
            # Else it would stand still where it was last told how far the fit is.
            self._bar.update(self._task, visible=False)
            self._bar.update(self._waiting, visible=True)
        if isinstance(event, events.Progress) and self._task is not None:
            epoch, _, detail = text.partition("  ")
            self._bar.update(
                self._task, completed=event.examples, epoch=epoch, detail=detail
            )
        elif text:
            self.note(text)


class EventLines:
    """Put events into words."""

    def __init__(self) -> None:
        self._started: events.FitStarted | None = None

    def text(self, event: events.Event) -> str:
        """Return a line; empty for events that need none, or are in the log too."""
        if isinstance(event, events.Preparing):
            return event.doing
        if isinstance(event, events.FitStarted):
            self._started = event
            skipped = f" ({event.skipped:,} rows skipped)" if event.skipped else ""
            doing = f"pretraining {event.layer} on" if event.layer else "training"
            return (
                f"{doing} {event.examples:,} examples{skipped} in "
                f"{event.minibatches:,} "
                f"minibatches, {count(event.epochs, 'epoch')}, on "
                f"{count(len(event.workers), 'worker')}"
            )
        if isinstance(event, events.Progress):
            return (
                f"{self._epoch(event.epoch)}  {event.examples:,} examples  "
                f"{event.examples_per_s:,.0f}/s  score {in_words(event.score)}  "
                f"{count(event.workers, 'worker')}  "
                f"{size_in_words(event.bytes_sent)} sent"
            )
        if isinstance(event, events.WorkerLost):
            why = f" ({event.reason})" if event.reason else ""
            return (
                f"{self._epoch(event.epoch)}  lost worker {event.worker}: "
                f"{event.redealt_examples:,} examples dealt again, of which "
                f"{event.repeated_examples:,} may count twice{why}"
            )
        if isinstance(event, events.WorkersRejoined):
            return (
                f"{count(len(event.workers), 'worker')} came where all had gone: on "
                f"from the last snapshot behind epoch {event.epoch}, "
                f"{event.repeated_examples:,} examples are trained again"
            )
        if isinstance(event, events.WorkersJoined):
            came = ", ".join(event.workers)
            return f"{self._epoch(event.epoch)}  joined by {came}"
        if isinstance(event, events.EpochFinished):
            values = (f"  {name} {in_words(x)}" for name, x in event.values.items())
            return (
                f"{self._epoch(event.epoch)}  done in {event.wall_s:.1f} s  "
                f"score {in_words(event.score)}{''.join(values)}"
            )
        return ""

    def _epoch(self, epoch: int) -> str:
        return f"epoch {epoch}/{self._started.epochs}" if self._started else ""


def starting(
    scheduler: str | None, workers: int | None, *, has_devices: bool = False
) -> str:
    """Return a line on the cluster that a command is about to start, or to join."""
    if scheduler is not None:
        return f"connecting to {scheduler}"
    which = "workers" if workers is None else count(workers, "worker")
    where = "CUDA devices of this machine" if has_devices else "this machine"
    return f"starting {which} on {where}"


def count(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural but for 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
