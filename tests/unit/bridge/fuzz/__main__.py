"""Fuzz a reader for a time: ``python -m tests.unit.bridge.fuzz sequence --minutes 30``.

A child process reads damaged files. This one ends it where it hangs, and begins
another where it died. What was found is in a folder each, and read again by
``--again FOLDER``; it becomes a test of its own.
"""

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tests.unit.bridge.fuzz.attempts import SEEDS, read_or_refuse, saved_attempt
from tests.unit.bridge.fuzz.child import Progress, fuzz

# Of one attempt: files of some KiB take milliseconds.
_MOST_CPU_S = 5.0
# Without any, which is no sign of work.
_MOST_WAIT_S = 300.0
_POLL_S = 0.5
_REPORT_S = 60.0


class _Run:
    """One child after another, until together they used their time."""

    def __init__(self, reader: str, seed: int, folder: Path) -> None:
        self.reader, self.seed, self.folder = reader, seed, folder
        self.n_attempts = self.n_findings = self.peak_bytes = 0
        self.cpu_s = 0.0

    def go(self, cpu_s: float) -> None:
        while self.cpu_s < cpu_s:
            self._one_child(cpu_s - self.cpu_s)
            self.seed += 1000

    def _one_child(self, most_cpu_s: float) -> None:
        progress = Progress()
        arguments = (self.reader, self.seed, self.folder, progress)
        process = multiprocessing.get_context("fork").Process(
            target=fuzz, args=arguments
        )
        process.start()
        reason = self._watch(process, progress, most_cpu_s)
        self.n_attempts += progress["n_attempts"]
        self.n_findings += progress["n_findings"] + bool(reason)
        self.peak_bytes = max(
            self.peak_bytes, progress["peak_bytes"] - progress["base_bytes"]
        )
        self._keep_current(reason)

    def _watch(self, process: Any, progress: Progress, most_cpu_s: float) -> str | None:
        """Wait until a child has used its time, or must be ended; return why."""
        watched, cpu_s = psutil.Process(process.pid), 0.0
        worked_s, since, reported = -1.0, time.monotonic(), time.monotonic()
        while process.is_alive():
            time.sleep(_POLL_S)
            try:
                cpu_s = sum(watched.cpu_times()[:2])
            except psutil.NoSuchProcess:
                break
            if cpu_s != worked_s:
                worked_s, since = cpu_s, time.monotonic()
            # None has begun while the seeds are read.
            began_s = progress["cpu_s"]
            hung = began_s and cpu_s - began_s > _MOST_CPU_S
            waited = time.monotonic() - since > _MOST_WAIT_S
            if hung or waited or cpu_s >= most_cpu_s:
                process.kill()
                process.join()
                self.cpu_s += cpu_s
                return "it hung" if hung or waited else None
            if time.monotonic() - reported > _REPORT_S:
                reported = time.monotonic()
                _report(self, progress, cpu_s)
        self.cpu_s += cpu_s
        process.join()
        code = process.exitcode
        return f"the process ended with {code}" if code else None

    def _keep_current(self, reason: str | None) -> None:
        for current in self.folder.glob("current-*"):
            if reason:
                kept = self.folder / f"found-{self.seed}" / "ended"
                kept.parent.mkdir(exist_ok=True)
                shutil.move(current, kept)
                (kept / "trouble.txt").write_text(reason)
            else:
                shutil.rmtree(current)


def _report(run: _Run, progress: Progress, cpu_s: float) -> None:
    peak_bytes = max(run.peak_bytes, progress["peak_bytes"] - progress["base_bytes"])
    _print(
        run.reader,
        run.n_attempts + progress["n_attempts"],
        run.n_findings + progress["n_findings"],
        run.cpu_s + cpu_s,
        peak_bytes,
    )


def _print(
    reader: str, n_attempts: int, n_findings: int, cpu_s: float, peak_bytes: int
) -> None:
    print(  # noqa: T201 - a command
        f"{reader}: {n_attempts} attempts in {cpu_s / 60:.1f} CPU minutes "
        f"({n_attempts / max(cpu_s, 1e-9):.0f} a second), at most "
        f"{peak_bytes / 2**20:.0f} MiB more memory, {n_findings} findings",
        flush=True,
    )


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.unit.bridge.fuzz")
    parser.add_argument("reader", nargs="?", choices=sorted(SEEDS))
    parser.add_argument("--minutes", type=float, default=30.0, help="of CPU time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="for what is found")
    parser.add_argument("--again", type=Path, help="a folder of what was found")
    given = parser.parse_args()
    if given.again is not None:
        with tempfile.TemporaryDirectory() as folder:
            read_or_refuse(saved_attempt(given.again), Path(folder))
        return 0
    if given.reader is None:
        parser.error("a reader must be given, or --again")
    folder = given.folder or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.reader}-"))
    folder.mkdir(parents=True, exist_ok=True)
    run = _Run(given.reader, given.seed, folder)
    run.go(60 * given.minutes)
    _print(run.reader, run.n_attempts, run.n_findings, run.cpu_s, run.peak_bytes)
    print(f"What was found is in {folder}.")  # noqa: T201 - a command
    return 1 if run.n_findings else 0


if __name__ == "__main__":
    sys.exit(_main())
