"""Run cells in processes of their own, which may hang or break, and print a table."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import groupby
from typing import IO, Any

from tests.integration.cluster.faults.cells import Cell, cells

LIMIT_S = 240.0


def main(words: list[str]) -> None:
    """Print a line for each cell whose name holds one of the words."""
    chosen = [
        cell
        for cell in cells()
        if not words or any(word in f"/{cell.name}/" for word in words)
    ]
    for cell, result in results(chosen):
        sys.stdout.write(line_of(cell, result))
        sys.stdout.flush()


def results(chosen: list[Cell]) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Return what came of each cell: a process runs those of one fault.

    One that hangs is ended, and another goes on behind that cell.
    """
    for _, of_one in groupby(chosen, lambda cell: cell.fault):
        waiting = list(of_one)
        while waiting:
            for result in results_of([*waiting]):
                yield waiting.pop(0), result


def results_of(cells: list[Cell]) -> Iterator[dict[str, Any]]:
    """Return the results of cells, until one hangs or breaks the process."""
    module = "tests.integration.cluster.faults.one_cell"
    with subprocess.Popen(
        [sys.executable, "-m", module, *(cell.name for cell in cells)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=pass_on, args=(process.stdout, lines)).start()
        try:
            for _ in cells:
                line = lines.get(timeout=LIMIT_S)
                if not line:
                    yield {"ended": "broke", "wall_s": 0.0}
                    return
                yield json.loads(line)
        except queue.Empty:
            os.killpg(process.pid, signal.SIGKILL)
            yield {"ended": "hang", "wall_s": LIMIT_S}


def pass_on(stream: IO[str] | None, lines: "queue.Queue[str]") -> None:
    for line in stream or ():
        lines.put(line)
    lines.put("")


def line_of(cell: Cell, result: dict[str, Any]) -> str:
    left = f" LEFT {result['left']}" if result.get("left") else ""
    counted = f" ({result['counted']})" if result.get("counted") else ""
    return (
        f"{cell.fault.value:14} {cell.master:10} {cell.moment.value:9} "
        f"{result['wall_s']:6.1f} s  {result['ended']}{counted}{left}\n"
    )
