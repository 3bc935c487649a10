"""All about one run: the rows, and what it takes to judge and repeat them."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from benchmarks.machine import description
from benchmarks.ratios import Clock
from benchmarks.results import Row
from benchmarks.rounds import Measurement, Pace

SCHEMA = 2


@dataclass(frozen=True)
class Failure:
    """What was not measured, and why. Without a case: the peer did not start."""

    peer: str
    reason: str
    case: str = ""
    what: str = ""


@dataclass
class Report:
    """The figures of a run.

    Parameters
    ----------
    command : str
        What was typed.
    peers : sequence of str
        Those compared with ours, in the order of the columns.
    threads : int
        Of every peer.
    clock : {"cpu", "wall"}
        Which time the ratios are of.
    pace : Pace
        How long was measured.

    Attributes
    ----------
    peaks : dict of str to float
        What a core does at best, in 1e9 of the unit that is the key.
    """

    command: str
    peers: Sequence[str]
    threads: int
    clock: Clock
    pace: Pace
    date: str = field(default_factory=lambda: f"{datetime.now(timezone.utc):%Y-%m-%d}")
    machine: dict[str, object] = field(default_factory=description)
    versions: dict[str, Mapping[str, str]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    peaks: dict[str, float] = field(default_factory=dict)

    @property
    def absent(self) -> set[str]:
        """The peers that did not start."""
        return {failure.peer for failure in self.failures if not failure.case}

    def to_dict(self) -> dict[str, Any]:
        """Return what goes into a file: dicts, lists, numbers and text."""
        return {
            "schema": SCHEMA,
            "date": self.date,
            "command": self.command,
            "machine": self.machine,
            "threads": self.threads,
            "clock": self.clock,
            "pace": asdict(self.pace),
            "peaks": self.peaks,
            "peers": list(self.peers),
            "versions": {peer: dict(names) for peer, names in self.versions.items()},
            "rows": [asdict(row) for row in self.rows],
            "failures": [asdict(failure) for failure in self.failures],
            "turns": [
                turns for result in self.measurements for turns in _turns(result)
            ],
        }

    def to_json(self) -> str:
        """Return the same as text; what is not a number is null."""
        return json.dumps(_finite(self.to_dict()), indent=1) + "\n"

    def heading(self) -> list[str]:
        """Return lines that say when, where and with what it was measured."""
        machine = self.machine
        programs = {
            f"{name} {version}"
            for versions in self.versions.values()
            for name, version in versions.items()
        }
        time = "CPU time" if self.clock == "cpu" else "elapsed time"
        where = (
            f"{self.date}, {machine['cpu']}, {machine['vectors']}, {machine['cores']} "
            f"cores, {machine['system']}; {', '.join(sorted(programs))}."
        )
        how = (
            f"Threads: {self.threads}. Ratios of {time}, {self.pace.rounds} rounds of "
            f"{self.pace.turn_s:g} s."
        )
        at_best = [f"{rate:.3g} {unit}" for unit, rate in self.peaks.items()]
        peaks = [f"A core at its best: {', '.join(at_best)}."] if at_best else []
        return [where, *peaks, how, f"`{self.command}`"]


def command_line(arguments: Sequence[str] | None) -> str:
    """Return what was typed."""
    words = sys.argv[1:] if arguments is None else arguments
    return " ".join(["python -m benchmarks", *words])


def _turns(measurement: Measurement) -> Iterator[dict[str, Any]]:
    for contender, turns in measurement.turns.items():
        yield {
            "case": measurement.case,
            "what": measurement.what,
            "peer": contender.peer,
            "variant": contender.variant,
            "turns": [asdict(turn) for turn in turns],
        }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value
