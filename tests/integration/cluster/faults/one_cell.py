"""Run cells in this process, and print what came of each as JSON."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from distributed import Client

from tests.integration.cluster.disturbed import assert_stays_empty, left_on
from tests.integration.cluster.faults import operations
from tests.integration.cluster.faults.cells import (
    STRIKES,
    Cell,
    Fault,
    cell_named,
)
from tests.integration.cluster.faults.pool import Pool

LEFT_WITHIN_S = 40.0
STRUCK_WITHIN_S = 30.0
MEMORY_LIMIT = "700MiB"


def main(names: list[str]) -> None:
    """Run cells of one fault, one after the other, and print a line for each."""
    cells = [cell_named(name) for name in names]
    is_full = cells[0].fault is Fault.MEMORY
    options = ["--memory-limit", MEMORY_LIMIT] if is_full else []
    with (
        tempfile.TemporaryDirectory() as folder,
        Pool(Path(folder), *options, nanny=is_full) as pool,
    ):
        # Compiles the kernels, and shows what a worker has after a fit anyway.
        operations.counted_fit(pool.client, cells[0].master, [], epochs=1)
        for cell in cells:
            sys.stdout.write(json.dumps(run_cell(pool, cell)) + "\n")
            sys.stdout.flush()


def as_client(name: str, address: str, folder: str) -> None:
    """Run a cell as the client that is killed."""

    def strike() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with Client(address, set_as_default=False) as client:
        operations.run(client, cell_named(name), strike, Path(folder))


def run_cell(pool: Pool, cell: Cell) -> dict[str, Any]:
    """Return how it ended, in how many seconds, what was counted, and what is left."""
    before = shared_memory()
    threads = max(thread_counts(pool.client), default=0)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ended, counted = outcome(pool, cell, Path(folder))
    wall_s = time.monotonic() - start_s
    pool.wait_for_timers()
    pool.settle(is_cut=cell.fault is Fault.CUT)
    left = leftovers(pool, before, threads)
    return {"ended": ended, "counted": counted, "wall_s": wall_s, "left": left}


def outcome(pool: Pool, cell: Cell, folder: Path) -> tuple[str, str]:
    if cell.fault is Fault.CLIENT_KILLED:
        module = "tests.integration.cluster.faults.one_cell"
        client = ["client", cell.name, pool.address, str(folder)]
        command = [sys.executable, "-m", module, *client]
        ended = subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
        code = ended.returncode
        return ("well" if code == -signal.SIGKILL else f"client: {code}"), ""
    struck: list[str] = []
    has_struck = threading.Event()

    def strike() -> None:
        try:
            STRIKES.get(cell.fault, _nothing)(pool)
        except Exception as error:  # noqa: BLE001
            struck.append(f"not struck: {error!r}")
        has_struck.set()

    try:
        counted = operations.run(pool.client, cell, strike, folder)
    except Exception as error:  # noqa: BLE001
        # Whatever it is, it is the entry of the table.
        return f"{type(error).__name__}: {error}", ""
    if cell.fault in STRIKES and not has_struck.wait(STRUCK_WITHIN_S):
        struck.append("not struck")
    return " ".join(struck) or "well", counted


def _nothing(pool: Pool) -> None:
    """Happens to nobody."""


def leftovers(pool: Pool, memory_before: set[str], most_threads: int) -> list[str]:
    """Return what is left on scheduler, workers and machine when all is quiet."""

    def look() -> list[str]:
        found = [*left_on(pool.client), *sorted(shared_memory() - memory_before)]
        threads = thread_counts(pool.client)
        return found + [f"{n} threads" for n in threads if n > most_threads]

    try:
        assert_stays_empty(look, LEFT_WITHIN_S)
    except AssertionError as error:
        return [str(one) for one in error.args[0]]
    return []


def thread_counts(client: Client) -> list[int]:
    def count(dask_worker: Any) -> int:
        return sum(name.startswith("daskdl") for name in names())

    def names() -> list[str]:
        return [thread.name for thread in threading.enumerate()]

    answers = client.run(count, on_error="ignore", wait=True)
    return list(answers.values())


def shared_memory() -> set[str]:
    folder = Path("/dev/shm")
    return {path.name for path in folder.glob("daskdl-*")} if folder.is_dir() else set()


if __name__ == "__main__":
    if sys.argv[1] == "client":
        as_client(*sys.argv[2:])
    else:
        main(sys.argv[1:])
