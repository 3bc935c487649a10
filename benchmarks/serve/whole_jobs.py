"""The command from start to end: train LeNet, predict; and DL4J on Spark beside it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.daskdl_nets import configuration
from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import DL4J_SPARK, JOB, PREDICT, PREDICTED, RUN

_SIDE, _N_CLASSES = 28, 10
_EPOCHS, _BATCH, _N_WORKERS = 2, 64, 2
_N_FILES = 4
_COMMAND = "from daskdl.cli.main import main; main()"
_TIMEOUT_S = 900
_LAST_CHARACTERS = 300


class WholeJobs:
    """Data, models and predictions in a folder; each call starts a process.

    Parameters
    ----------
    folder : Path
        Is made; whoever made its parent removes it.
    n_examples : int
        Of an epoch.
    dl4j_spark : Path or None
        Folder of a ``run.sh`` that trains and predicts with DL4J on Spark, and of the
        ``make_data.py`` that makes its data. See its own README.md.
    """

    def __init__(self, folder: Path, n_examples: int, dl4j_spark: Path | None) -> None:
        self._folder = folder
        self._n_examples = n_examples
        self._dl4j = dl4j_spark
        self._written = cache(self._write)

    def offers(self) -> Offers:
        """Return what `make` knows."""
        predicted = [f"{PREDICT}-{factor * self._n_examples}" for factor in PREDICTED]
        offers = [(JOB, what, "") for what in (RUN, *predicted)]
        if self._dl4j is not None:
            offers += [(JOB, what, DL4J_SPARK) for what in (RUN, predicted[0])]
        return offers

    def make(self, what: str, variant: str) -> Work:
        """Return a whole job."""
        facts: dict[str, float] = {}
        if variant == DL4J_SPARK:
            return Work(lambda: facts.update(self._dl4j_job(what)), facts=facts)
        self._written()
        if what == RUN:
            return Work(lambda: facts.update(self._run()), facts=facts)
        n_rows = int(what.rpartition("-")[2])
        rows = self._folder / f"rows-{n_rows}"
        write_images(rows, n_rows)
        if not (self._folder / "model").exists():
            self._run()
        return Work(lambda: facts.update(self._predict(rows)), facts=facts)

    def _write(self) -> None:
        self._folder.mkdir()
        write_images(self._folder / "train", self._n_examples)
        network = configuration("lenet")
        network["input"] = {"type": "convolutional_flat", **_image()}
        job = {
            "network": network,
            "data": {"train": "train", "features": "features", "label": "label"},
            "training": {"master": "shared", "epochs": _EPOCHS, "batch_size": _BATCH},
            "cluster": {"workers": _N_WORKERS},
        }
        # JSON is YAML.
        (self._folder / "job.yaml").write_text(json.dumps(job))

    def _run(self) -> Mapping[str, float]:
        """Train, and return the rate of the last epoch, when all is compiled."""
        model = self._folder / "model"
        shutil.rmtree(model, ignore_errors=True)
        self._daskdl("run", str(self._folder / "job.yaml"), "--output", str(model))
        statistics = json.loads((model / "statistics.json").read_text())
        return {"per_s": self._n_examples / statistics["epochs"][-1]["wall_s"]}

    def _predict(self, rows: Path) -> Mapping[str, float]:
        words = ["predict", str(self._folder / "model"), str(rows), "--key", "id"]
        words += ["--features", "features", "--workers", str(_N_WORKERS)]
        output = str(self._folder / "predicted")
        said = self._daskdl(*words, "--output", output, "--overwrite")
        return {"per_s": float(said["examples_per_s"])}

    def _daskdl(self, *words: str) -> Any:
        command = [sys.executable, "-c", _COMMAND, *words, "--json"]
        return json.loads(_output(command, self._folder)[-1])

    def _dl4j_job(self, what: str) -> Mapping[str, float]:
        """Run DL4J on as many examples, and return its last rate and its whole time."""
        tool, data = self._dl4j, self._folder / "dl4j-data"
        if tool is None:
            raise ValueError("DL4J on Spark is not here")
        self._folder.mkdir(exist_ok=True)
        if not data.exists():
            _output(
                [sys.executable, str(tool / "make_data.py"), str(data)], data.parent
            )
        command = [str(tool / "run.sh"), "fit" if what == RUN else "eval"]
        command += ["--data", str(data), "--net", "lenet", "--workers", str(_N_WORKERS)]
        command += ["--examples", str(self._n_examples), "--batch", str(_BATCH)]
        command += ["--threads", "1", "--work", str(self._folder / "spark")]
        if what == RUN:
            command += ["--master", "shared", "--epochs", str(_EPOCHS), "--all", "yes"]
        lines = [json.loads(line) for line in _output(command, data) if line[:1] == "{"]
        if what == RUN:
            last = [line for line in lines if line["bench"] == "fit-epoch"][-1]
            whole_s = lines[-1]["job_s_from_jvm_start"]
        else:
            last = [line for line in lines if "feedForward" in line["how"]][-1]
            # It evaluates and repeats besides, so that the whole says nothing.
            whole_s = last["wall_s"]
        return {"per_s": last["examples_s"], "whole_s": whole_s}


def write_images(folder: Path, n_rows: int) -> None:
    """Write grey images as rows of Parquet, with a number and a class each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng, size = np.random.default_rng(0), _SIDE**2
    for number, ids in enumerate(np.array_split(np.arange(n_rows), _N_FILES)):
        pixels = rng.random(len(ids) * size, dtype=np.float32)
        places = np.arange(0, len(pixels) + 1, size, dtype=np.int32)
        columns = {
            "id": ids,
            "features": pa.ListArray.from_arrays(places, pixels),
            "label": rng.integers(0, _N_CLASSES, len(ids)).astype(np.int32),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number:05d}.parquet")
    (folder / "_SUCCESS").touch()


def _image() -> dict[str, int]:
    return {"height": _SIDE, "width": _SIDE, "channels": 1}


def _output(command: list[str], folder: Path) -> list[str]:
    """Return what a program prints, line by line."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip()[-_LAST_CHARACTERS:]
        raise RuntimeError(f"{command[0]} ended with code {done.returncode}: {said}")
    return done.stdout.strip().splitlines()
