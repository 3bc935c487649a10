"""Two workers that a supervisor starts again, and what can happen to them."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from daskdl.cluster.bus import outgoing_link
from daskdl.cluster.bus.protocol import PLUGIN_NAME as BUS
from tests.integration.cluster.disturbed import START_TIMEOUT_S, WorkerProcesses

LOOK_EVERY_S = 0.1


class Pool(WorkerProcesses):
    """Two workers; whoever ends is followed by another. A context manager.

    A nanny gives a worker up that is killed while it starts. A service manager does
    not, so that is what stands behind these.
    """

    def __init__(self, folder: Path, *options: str, nanny: bool = False) -> None:
        super().__init__(folder, nanny=nanny)
        self._options = options
        self._is_over = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise)
        self._supervised: list[subprocess.Popen[bytes]] = []
        self._timers: list[threading.Thread] = []

    def __enter__(self) -> "Pool":
        super().__enter__()
        self._supervised = [self.spawn(*self._options) for _ in range(2)]
        self.client.wait_for_workers(2, timeout=START_TIMEOUT_S)
        self._supervisor.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._supervisor.join()
        self.wait_for_timers()
        super().__exit__(*error)

    def settle(self, *, is_cut: bool) -> None:
        """Wait until two workers are there that nothing is wrong with.

        Parameters
        ----------
        is_cut : bool
            Whether those that are there do not reach each other.
        """
        for process in self._processes:
            if process.poll() is None:
                is_extra = process not in self._supervised
                if is_cut or is_extra or is_stopped(process.pid):
                    process.kill()
                    # Until it has ended the scheduler counts it, and it is not stopped.
                    process.wait()
        deadline = time.monotonic() + START_TIMEOUT_S
        while len(self.pids()) != 2 or any(map(is_stopped, self.pids().values())):
            assert time.monotonic() < deadline, f"workers: {self.pids()}"
            time.sleep(LOOK_EVERY_S)

    def later(self, delay_s: float, function: Any, *args: Any) -> None:
        """Call a function after a while, in another thread."""
        timer = threading.Timer(delay_s, function, args)
        self._timers.append(timer)
        timer.start()

    def wait_for_timers(self) -> None:
        """Wait until all has happened that is to happen later."""
        while self._timers:
            self._timers.pop().join()

    def _supervise(self) -> None:
        while not self._is_over.wait(LOOK_EVERY_S):
            self._supervised = [
                self.spawn(*self._options) if one.poll() is not None else one
                for one in self._supervised
            ]


def is_stopped(pid: int) -> bool:
    """Return whether a process was stopped, or is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "TZ"


def kill_one(pool: Pool) -> None:
    os.kill(_last(pool), signal.SIGKILL)


def kill_all(pool: Pool) -> None:
    for pid in pool.pids().values():
        os.kill(pid, signal.SIGKILL)


def stop_for_a_while(pool: Pool) -> None:
    pid = _last(pool)
    os.kill(pid, signal.SIGSTOP)
    pool.later(20.0, os.kill, pid, signal.SIGCONT)


def stop_for_good(pool: Pool) -> None:
    os.kill(_last(pool), signal.SIGSTOP)


def restart(pool: Pool) -> None:
    async def on_scheduler(dask_scheduler: Any) -> None:
        await dask_scheduler.restart(stimulus_id="test")

    pool.later(0.0, pool.client.run_on_scheduler, on_scheduler)


def scale(pool: Pool) -> None:
    """One more comes, and one of those that were there is retired."""
    pool.spawn()
    first = min(pool.pids())
    pool.later(1.0, pool.client.retire_workers, [first])


def cut(pool: Pool) -> None:
    """No worker reaches another any more; the scheduler reaches all."""

    def on_worker(dask_worker: Any) -> None:
        async def connect(address: str, **options: Any) -> None:
            raise OSError(f"cut off from {address}")

        outgoing_link.connect = connect  # type: ignore[assignment]
        for opened in dask_worker.plugins[BUS]._open.values():
            for peer in opened.peers._peers.values():
                peer.incoming.close()
                if peer.outgoing is not None:
                    peer.outgoing.stop()

    pool.client.run(on_worker)


def fill_memory(pool: Pool) -> None:
    """One worker holds all that it may, and its nanny ends it."""

    async def on_worker(dask_worker: Any) -> None:
        step = 16 << 20
        dask_worker.held_by_test = []
        for _ in range((dask_worker.memory_manager.memory_limit or 0) // step):
            dask_worker.held_by_test.append(bytearray(b"x") * step)

    address = max(pool.pids())
    pool.client.run(on_worker, workers=[address], wait=False)


def _last(pool: Pool) -> int:
    """Return the process id of the member of the highest rank."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (pids := pool.pids()):
        assert time.monotonic() < deadline
        time.sleep(LOOK_EVERY_S)
    return pids[max(pids)]
