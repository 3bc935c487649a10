"""Run the command of daskdl and disturb its HDFS at a random moment of a stage.

    python -m tests.hdfs.disturbed_run STAGE SEED STATE DISTURBANCE ARGUMENTS...

STAGE is ``training``, ``checkpoint`` or ``final``; STATE the ``state.json`` of a mini
HDFS; DISTURBANCE ``kill`` (the active NameNode dies, and for up to five seconds there
is none) or ``freeze`` (all servers stand still for a minute).
"""

import json
import os
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from daskdl.cli.main import main
from daskdl_bridge.hdfs_client import GuardedWriter

# About as long as a run of the tests trains here.
MOST_WAIT_S = 10.0
FREEZE_S = 60.0
# A run writes no more pieces of files when it is done than this.
N_FINAL_WRITES = 6


def kill(state, rng):
    """Kill the active NameNode; the other one takes over after a while."""
    with socket.create_connection(("127.0.0.1", state["control"]), 60) as connection:
        connection.sendall(f"failover kill {rng.uniform(0, 5):.2f}\n".encode())
        told = connection.makefile().readline().strip()
    tell(f"kill {told}")


def freeze(state, rng):
    """Let all servers stand still."""
    os.kill(state["pid"], signal.SIGSTOP)
    tell("freeze")
    time.sleep(FREEZE_S)
    os.kill(state["pid"], signal.SIGCONT)


def tell(what):
    sys.stderr.write(f"disturbed: {what}\n")
    sys.stderr.flush()


def disturb_when_written(is_meant, disturb, rng, n_before):
    """Disturb while the write goes on whose turn it is among those that are meant."""
    real = GuardedWriter.write
    countdown = iter(range(n_before, -1, -1))

    def write(self, buffer):
        if is_meant(self._url) and next(countdown, None) == 0:
            threading.Thread(target=disturb, daemon=True).start()
            time.sleep(rng.uniform(0, 1.5))
        return real(self, buffer)

    GuardedWriter.write = write


def run(stage, seed, state, disturbance, arguments):
    rng = random.Random(int(seed))
    known = json.loads(Path(state).read_text(encoding="utf-8"))

    def disturb():
        {"kill": kill, "freeze": freeze}[disturbance](known, rng)

    if stage == "training":
        threading.Timer(rng.uniform(1, MOST_WAIT_S), disturb).start()
    elif stage == "checkpoint":
        disturb_when_written(
            lambda url: "checkpoint" in url, disturb, rng, rng.randrange(4)
        )
    else:
        disturb_when_written(
            lambda url: "checkpoint" not in url,
            disturb,
            rng,
            rng.randrange(N_FINAL_WRITES),
        )
    sys.argv[1:] = arguments
    main()


if __name__ == "__main__":
    run(*sys.argv[1:5], sys.argv[5:])
