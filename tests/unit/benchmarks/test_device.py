"""The table of steps on a device, from what peers would say."""

import json
import subprocess

from rich.console import Console

from benchmarks.device import command
from benchmarks.device.nets import NAMES, net_named

SAID = {"daskdl": {"from the host": 0.25, "MiB": 500}, "torch": {"graph": 0.5}}


def test_peers_take_turns_and_medians_are_told(monkeypatch):
    asked = []

    def run(words, **options):
        asked.append((words[-2].rpartition("_")[2], words[-1]))
        assert options["env"]["DASKDL_GPU_MATH"] == "tf32"
        said = json.dumps(SAID[asked[-1][0]])
        return subprocess.CompletedProcess(words, 0, said)

    monkeypatch.setattr(subprocess, "run", run)
    console = Console(record=True, width=80)
    monkeypatch.setattr(command, "Console", lambda: console)
    command.main(["lenet", "--rounds", "2", "--tf32"])
    assert asked == [("torch", "lenet"), ("daskdl", "lenet")] * 2
    lines = console.export_text().splitlines()
    (row,) = (line for line in lines if "from the host" in line)
    assert "0.25" in row


def test_minibatches_are_those_of_other_benchmarks_or_larger():
    assert net_named("lenet").features == (64, 1, 28, 28)
    assert net_named("resnet50").label_axes == (64,)
    assert len({*NAMES}) == 5
