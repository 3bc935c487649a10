"""``python -m tests.integration.cluster.faults [WORD ...]``: the table of faults.

Runs the cells whose names hold all of the words, each in a process of its own, and
prints a line for each. With none all of them, which takes about half an hour.
"""

import json
import os
import signal
import subprocess
import sys

from tests.integration.cluster.faults.cells import Cell, cells

LIMIT_S = 240.0


def main(words: list[str]) -> None:
    """Print the table."""
    for cell in cells():
        if all(word in f"/{cell.name}/" for word in words):
            sys.stdout.write(line_of(cell, result_of(cell)))
            sys.stdout.flush()


def result_of(cell: Cell) -> dict[str, object]:
    module = "tests.integration.cluster.faults.one_cell"
    with subprocess.Popen(
        [sys.executable, "-m", module, cell.name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"ended": "hang", "counted": "", "wall_s": LIMIT_S, "left": []}
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        last = err.strip().splitlines()[-1:] or [str(process.returncode)]
        return {"ended": f"broke: {last[0]}", "counted": "", "wall_s": 0.0, "left": []}
    result: dict[str, object] = json.loads(out.splitlines()[-1])
    return result


def line_of(cell: Cell, result: dict[str, object]) -> str:
    left = f" LEFT {result['left']}" if result["left"] else ""
    counted = f" ({result['counted']})" if result["counted"] else ""
    return (
        f"{cell.fault.value:14} {cell.master:10} {cell.moment.value:9} "
        f"{result['wall_s']:6.1f} s  {result['ended']}{counted}{left}\n"
    )


main(sys.argv[1:])
