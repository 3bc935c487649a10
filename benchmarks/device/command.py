"""``python -m benchmarks device``: steps on a CUDA device, peers in turn."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.device.nets import NAMES

ROOT = Path(__file__).parents[2]
PEERS = {"torch": "PyTorch", "daskdl": "daskdl"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Time networks, and print a table of milliseconds.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words of the command line behind ``device``.
    """
    options = _parser().parse_args(arguments)
    math = "tf32" if options.tf32 else "fp32"
    rounds: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(options.rounds):
        for net in options.nets:
            for peer in PEERS:
                found = asked(peer, net, math)
                rounds.setdefault((net, peer), []).append(found)
    Console().print(table_of(rounds, math))


def asked(peer: str, net: str, math: str) -> dict[str, float]:
    """Return what the process of a peer says: milliseconds, and memory in MiB."""
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "bridge")]),
        "DASKDL_BACKEND_PRIORITY_GPU": "cupy",
        "DASKDL_GPU_MATH": math,
    }
    command = [sys.executable, "-m", f"benchmarks.device.peer_{peer}", net]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def table_of(rounds: dict[tuple[str, str], list[dict[str, float]]], math: str) -> Table:
    """Return the medians of the rounds, a row for each network, peer and way."""
    table = Table("network", "peer", "step", "ms", title=f"A CUDA device, {math}")
    for (net, peer), found in rounds.items():
        for way in found[0]:
            middle = statistics.median(one[way] for one in found)
            told = f"{middle:,.0f}" if way == "MiB" else f"{middle:.4g}"
            table.add_row(net, PEERS[peer], way, told)
    return table


def _parser() -> Any:
    parser = argparse.ArgumentParser(prog="python -m benchmarks device")
    parser.add_argument("nets", nargs="*", default=list(NAMES), choices=[*NAMES, []])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tf32", action="store_true")
    return parser
