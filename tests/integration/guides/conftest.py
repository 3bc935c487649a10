"""Places in which everything is that the guides name, and one cluster for all pages."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from distributed import LocalCluster

import daskdl as dl
from daskdl.cli.main import main
from tests.forgotten_kinds import forgotten_kinds
from tests.guide_blocks import ROOT, blocks

DIGITS = ROOT / "examples" / "digits" / "data"
DIGITS_RUN = "daskdl run examples/digits/job.yaml"
# What follows any other run, so that the pages do not take long.
SHORT = ["training.epochs=1"]
STARTS_WORKERS = {"run", "predict", "evaluate"}
COMMAND = [sys.executable, "-c", "from daskdl.cli.main import main; main()"]


class Machines:
    """What all pages share: a cluster, and commands that were run already.

    Parameters
    ----------
    folder : Path
        Where runs and the places of pages are.
    address : str
        Of a scheduler with two workers.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.address = address
        self.places: dict[str, Place] = {}
        self._done: dict[str, dict[str, Any]] = {}

    def place(self, page: str) -> "Place":
        """Return the place of a page."""
        if page not in self.places:
            self.places[page] = Place(self, self.folder / page.replace("/", "-"))
        return self.places[page]

    def run(self, words: list[str]) -> dict[str, Any]:
        """Run a command of daskdl, once however often it is named.

        Returns
        -------
        dict
            What it tells programs.
        """
        key = shlex.join(["daskdl", *words])
        if key not in self._done:
            if words[0] == "run":
                words = words + ([] if key == DIGITS_RUN else SHORT)
                if "--output" not in words:
                    output = self.folder / f"run-{len(self._done)}"
                    words = [*words, "--output", str(output)]
            self._done[key] = told([*words, "--json"])
        return self._done[key]


class Place:
    """Where one page is tried: its folders stand in for HDFS and ``/tmp``."""

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.folder = folder
        self.space: dict[str, Any] | None = None
        self._machines = machines
        self._words = {
            "hdfs://nameservice": str(folder / "hdfs"),
            "tcp://scheduler:8786": machines.address,
            "tcp://host:8786": machines.address,
            "tcp://localhost:8786": machines.address,
            "tls://scheduler.example.com:8786": machines.address,
            "/tmp/": f"{folder}/tmp/",
        }
        for parent in ("data", "hdfs/digits", "hdfs/models", "tmp"):
            (folder / parent).mkdir(parents=True)
        for parent in ("data", "hdfs", "hdfs/digits"):
            for name, digits in {
                "train": "train",
                "test": "test",
                "new": "test",
            }.items():
                (folder / parent / name).symlink_to(DIGITS / digits)
        (folder / "examples").symlink_to(ROOT / "examples")
        (job,) = blocks("yaml", page="README.md")
        (folder / "job.yaml").write_text(job.text)

    def text(self, text: str) -> str:
        """Put stand-ins in for what is not here."""
        # All at once: a place may itself be below /tmp.
        known = "|".join(map(re.escape, self._words))
        return re.sub(known, lambda found: self._words[found[0]], text)

    @property
    def digits(self) -> dict[str, Any]:
        """Figures of the run that the front page begins with, whole."""
        return self.run(DIGITS_RUN)

    def run(self, command: str) -> dict[str, Any]:
        """Run a command as a page names it; return what it tells programs."""
        _, *words = shlex.split(self.text(command))
        if "MODEL" in words:
            words[words.index("MODEL")] = self.digits["model"]
        if "DATA" in words:
            words[words.index("DATA")] = str(DIGITS / "test")
        return self._machines.run(words)


def told(words: list[str]) -> dict[str, Any]:
    """Run a command, in a process of its own if it starts workers."""
    if words[0] in STARTS_WORKERS:
        done = subprocess.run(
            [*COMMAND, *words], capture_output=True, text=True, check=False
        )
        code, out, errors = done.returncode, done.stdout, done.stderr
    else:
        result = CliRunner().invoke(main, words)
        code, out, errors = result.exit_code, result.stdout, result.output
    assert code == 0, errors
    return dict(json.loads(out.splitlines()[-1]))


@pytest.fixture(scope="module", autouse=True)
def kinds_of_pages() -> Iterator[None]:
    """Keep what pages register for their tests only, which go on with it."""
    with forgotten_kinds():
        yield


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        resources={"GPU": 1},
        # They have none.
        env={"DASKDL_BACKEND_PRIORITY_GPU": "none"},
        silence_logs=50,
    ) as cluster:
        folder = tmp_path_factory.mktemp("guides")
        yield Machines(folder, cluster.scheduler_address)


@pytest.fixture(scope="session")
def examples() -> dl.DataSet:
    """The digits that networks are tested on."""
    source = dl.open_source(
        str(DIGITS / "test"),
        dl.SourceOptions(features="features", label="label", key="id", n_classes=10),
    )
    whole = dl.DataSet.merge([partition.load() for partition in source.partitions])
    features = np.asarray(whole.features, dtype=np.float32)
    return whole.replaced(features=features, labels=whole.labels)
