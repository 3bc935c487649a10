"""The metrics of a run: one line for machines, a table for people."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["RunMetrics", "in_words", "size_in_words", "without_nan", "workers_in_words"]


@dataclass(frozen=True, kw_only=True)
class RunMetrics:
    """Measured numbers of a command; ``None`` where nothing was measured.

    Parameters
    ----------
    accuracy, loss : float or None
        Of the test data; without test data `loss` is the last epoch's training score.
    examples : int
        Trained (every epoch counts), evaluated or predicted.
    skipped, skipped_test : int
        Rows of the data, and of the test data of a training, that were left out, as
        ``handle_invalid: skip`` says.
    examples_per_s : float
        While the workers worked.
    wall_s : float
        From the start of the command, cluster included.
    workers : int
        At the start.
    repeated_examples : int
        Trained twice, because a worker went.
    bytes_sent : int
        By the workers to one another.
    lost_workers, joined_workers : tuple of str
        Those that went, and that came later.
    model, predictions : str or None
        Where they were written.
    best_epoch, best_score : int or None, float or None
        With early stopping: of the network that was kept, on the validation data.
    ended_by : str or None
        The condition that ended the training then.
    """

    accuracy: float | None = None
    loss: float | None = None
    examples: int = 0
    skipped: int = 0
    skipped_test: int = 0
    examples_per_s: float = 0.0
    wall_s: float = 0.0
    workers: int = 0
    repeated_examples: int = 0
    bytes_sent: int = 0
    lost_workers: tuple[str, ...] = ()
    joined_workers: tuple[str, ...] = ()
    model: str | None = None
    predictions: str | None = None
    best_epoch: int | None = None
    best_score: float | None = None
    ended_by: str | None = None

    def to_line(self) -> str:
        """Return the metrics as one line of JSON, without a line end."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as plain values, without NaN."""
        plain: dict[str, Any] = without_nan(asdict(self))
        return plain

    def lines(self) -> list[str]:
        """Return a line for each metric, as wide as it takes."""
        width = max(len(name) for name, _ in self._rows())
        return [f"{name:<{width}}  {text}" for name, text in self._rows()]

    def print_table(self, console: "Console") -> None:
        """Print a line for each metric; unshortened without a terminal."""
        if not console.is_terminal:
            # There nobody sees where a line would end, and programs look for paths.
            for line in self.lines():
                console.print(line, highlight=False, markup=False, soft_wrap=True)
            return
        from rich.table import Table

        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="bold")
        # A path that is cut off cannot be copied.
        table.add_column(overflow="fold")
        for name, text in self._rows():
            table.add_row(name, text)
        console.print(table)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("accuracy", in_words(self.accuracy, percent=True)),
            ("loss", in_words(self.loss)),
            ("examples", f"{self.examples:,} at {self.examples_per_s:,.0f} a second"),
            ("skipped rows", _count(self.skipped)),
            ("skipped test rows", _count(self.skipped_test)),
            ("wall time", f"{self.wall_s:.1f} s"),
            (
                "workers",
                workers_in_words(
                    self.workers, len(self.lost_workers), len(self.joined_workers)
                ),
            ),
            ("sent", size_in_words(self.bytes_sent) if self.bytes_sent else ""),
            ("lost workers", ", ".join(self.lost_workers)),
            (
                "repeated examples",
                f"{self.repeated_examples:,}" if self.lost_workers else "",
            ),
            ("best epoch", str(self.best_epoch or "")),
            ("best score", in_words(self.best_score)),
            ("ended by", self.ended_by or ""),
            ("model", self.model or ""),
            ("predictions", self.predictions or ""),
        ]
        return [(name, text) for name, text in rows if text]


def in_words(value: float | None, *, percent: bool = False) -> str:
    """Return a number as people read it; an empty string for None."""
    if value is None:
        return ""
    return f"{value:.2%}" if percent else f"{value:.4g}"


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def workers_in_words(at_start: int, lost: int, joined: int) -> str:
    """Return how many workers there were: ``2, 5 lost, 4 joined``."""
    changes = [(lost, "lost"), (joined, "joined")]
    return ", ".join([str(at_start), *(f"{n} {what}" for n, what in changes if n)])


def size_in_words(n_bytes: float) -> str:
    """Return a number of bytes with a unit: ``1.5 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def without_nan(value: Any) -> Any:
    """Return plain values with None for NaN and infinity, which JSON lacks."""
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
