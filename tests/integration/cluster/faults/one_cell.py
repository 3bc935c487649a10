"""Run one cell in this process, and print what came of it as JSON."""

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
WHOLE_WITHIN_S = 60.0
MEMORY_LIMIT = "700MiB"


def main(name: str, address: str = "") -> None:
    """Run a cell; with an address as the client that is killed."""
    cell = cell_named(name)
    with tempfile.TemporaryDirectory() as folder:
        if address:
            as_client(cell, address, Path(folder))
            return
        sys.stdout.write(json.dumps(run_cell(cell, Path(folder))) + "\n")


def as_client(cell: Cell, address: str, folder: Path) -> None:
    def strike() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with Client(address, set_as_default=False) as client:
        operations.run(client, cell, strike, folder)


def run_cell(cell: Cell, folder: Path) -> dict[str, Any]:
    """Return how it ended, in how many seconds, what was counted, and what is left."""
    is_full = cell.fault is Fault.MEMORY
    options = ["--memory-limit", MEMORY_LIMIT] if is_full else []
    before = shared_memory()
    with Pool(folder, *options, nanny=is_full) as pool:
        # Compiles the kernels, and shows what a worker has after a fit anyway.
        operations.counted_fit(pool.client, cell.master, [], epochs=1)
        threads = thread_counts(pool.client)
        start_s = time.monotonic()
        ended, counted = outcome(pool, cell, folder)
        wall_s = time.monotonic() - start_s
        left = leftovers(pool, before, max(threads, default=0))
    return {"ended": ended, "counted": counted, "wall_s": wall_s, "left": left}


def outcome(pool: Pool, cell: Cell, folder: Path) -> tuple[str, str]:
    if cell.fault is Fault.CLIENT_KILLED:
        module = "tests.integration.cluster.faults.one_cell"
        command = [sys.executable, "-m", module, cell.name, pool.address]
        code = subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode
        return ("well" if code == -signal.SIGKILL else f"client: {code}"), ""
    strike = STRIKES.get(cell.fault)
    try:
        act = (lambda: strike(pool)) if strike is not None else (lambda: None)
        return "well", operations.run(pool.client, cell, act, folder)
    except Exception as error:  # noqa: BLE001
        # Whatever it is, it is the entry of the table.
        return f"{type(error).__name__}: {error}", ""


def leftovers(pool: Pool, memory_before: set[str], most_threads: int) -> list[str]:
    """Return what is left on scheduler, workers and machine when all is quiet."""
    end_s = time.monotonic() + WHOLE_WITHIN_S
    while not pool.is_whole() and time.monotonic() < end_s:
        threading.Event().wait(0.2)

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
    main(*sys.argv[1:])
