"""``python -m tests.integration.cluster.faults.repeated MASTER FAULTS EVERY_S``.

One fit in which something happens again and again, and what the processes hold
meanwhile. It ends with the epoch behind the last fault, every example counted.
"""

import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import daskdl as dl
from tests.counting import assert_counts, counting_network, numbered_examples
from tests.integration.cluster.disturbed import assert_nothing_is_left
from tests.integration.cluster.faults.operations import BATCH, EXAMPLES, master_of
from tests.integration.cluster.faults.pool import Pool

# Longer than a worker takes to come back: else the last one is struck as well.
SELDOM_S = 15.0
STOPPED_S = 5.0
# How often the only one that is there is struck when its turn comes.
ALL_GO = 0.2


class Faults(threading.Thread):
    """Kills a worker every so often; where that is seldom, stops one every other time.

    With faults that are seldom the first worker is spared, so that it can be measured.
    """

    def __init__(self, pool: Pool, faults: int, every_s: float) -> None:
        super().__init__()
        self._pool, self._faults, self._every_s = pool, faults, every_s
        self._rng = random.Random(1)
        self._spared = min(pool.pids()) if every_s > SELDOM_S else ""
        self.is_over = threading.Event()
        self.struck = 0

    @property
    def spared_pid(self) -> int | None:
        return self._pool.pids().get(self._spared)

    def run(self) -> None:
        while self.struck < self._faults and not self.is_over.wait(self._every_s):
            pids = self._pool.pids()
            others = sorted(pids.keys() - {self._spared})
            # Most of the time one is left.
            if len(pids) > 1 or (others and self._rng.random() < ALL_GO):
                self._strike(pids[self._rng.choice(others)])
        self.is_over.set()

    def _strike(self, pid: int) -> None:
        self.struck += 1
        if self._spared and self.struck % 2:
            os.kill(pid, signal.SIGSTOP)
            self._pool.later(STOPPED_S, os.kill, pid, signal.SIGCONT)
        else:
            os.kill(pid, signal.SIGKILL)
        held = [f"here {figures(os.getpid())}"]
        if (spared := self.spared_pid) is not None:
            held.append(f"worker {figures(spared)}")
        say(f"fault {self.struck}, {len(self._pool.pids())} workers: {'; '.join(held)}")


class Until(dl.Listener):
    """Ends the fit behind an epoch when all faults have been."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def on_epoch_end(self, fit: Any) -> None:
        if self._faults.is_over.is_set():
            fit.stop()


def main(master: str, n_faults: int, every_s: float, folder: Path) -> None:
    """Run it, and print a line for each fault and one of the whole."""
    with Pool(folder) as pool:
        network = counting_network(EXAMPLES, BATCH)
        front = dl.DaskMultiLayer(pool.client, network, master_of(master))
        faults = Faults(pool, n_faults, every_s)
        data = numbered_examples(EXAMPLES)
        start_s = time.monotonic()
        faults.start()
        try:
            front.fit(
                data,
                epochs=10**9,
                batch_size=BATCH,
                listeners=Until(faults),
            )
        finally:
            faults.is_over.set()
            faults.join()
        wall_s = time.monotonic() - start_s
        report = front.last_fit
        epochs = network.epoch_count
        if master == "sharing":
            assert_counts(network, report, examples=EXAMPLES, epochs=epochs)
        assert np.asarray(network.params).min() > 0
        assert report.examples - report.repeated_examples == EXAMPLES * epochs
        say(
            f"{master}: {faults.struck} faults, {epochs} epochs, {wall_s:.0f} s; "
            f"lost {len(report.lost)}, back {len(report.rejoined)}, "
            f"{report.examples} examples, {report.repeated_examples} of them again"
        )
        assert_nothing_is_left(pool.client)


def figures(pid: int) -> str:
    """Return what a process holds, in words."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in status)
    files = len(os.listdir(f"/proc/{pid}/fd"))
    memory_mib = int(values["VmRSS"].split()[0]) / 1024
    return f"{memory_mib:.1f} MiB, {files} files, {int(values['Threads'])} threads"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(made))
