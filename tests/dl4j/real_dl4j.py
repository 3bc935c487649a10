"""The real Deeplearning4j, in a process that does what it is told."""

import itertools
import json
import os
import subprocess
from pathlib import Path

from daskdl.data.dataset import DataSet
from daskdl.dl4j.arrays.nd4j import read_array, write_array

_MARK = "answer "


class RefusedError(Exception):
    """What DL4J threw."""


class RealDl4j:
    """A Java process that answers one command after another; see java/.

    Parameters
    ----------
    classpath : str
        Of the compiled program.
    folder : path
        For everything that goes there and back.
    """

    def __init__(self, classpath, folder):
        self._folder = Path(folder)
        self._numbers = itertools.count()
        self._messages = (self._folder / "messages.txt").open("wb")
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            ["java", "-Xmx1g", "-cp", classpath, "daskdl.Answers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
            encoding="utf-8",
            env={**os.environ, **threads},
        )

    def close(self):
        """End the process, which does so when nothing more can be asked."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._messages.close()

    def new(self, ending=""):
        """Return the path of a file that is not there yet."""
        return self._folder / f"{next(self._numbers)}{ending}"

    def ask(self, do, **values):
        """Return the answer to one command; numbers, texts and paths go as JSON.

        Raises
        ------
        RefusedError
            With what DL4J threw, and where.
        """
        command = {"do": do, **values}
        self._process.stdin.write(json.dumps(command, default=str) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(_MARK):
                answer = json.loads(line.removeprefix(_MARK))
                if "error" in answer:
                    raise RefusedError(f"{answer['error']} @ {answer['at']}")
                return answer["ok"]
        raise RuntimeError(f"DL4J ended: {self._said()}")

    def output(self, model, batch, *, dtype):
        """Return what DL4J predicts with a model file; a list, one array an output.

        Parameters
        ----------
        model : path
        batch : Arrays
            Features and masks.
        dtype : str
            ``"float32"`` or ``"float64"``.
        """
        folder = self.new()
        folder.mkdir()
        masks = {"features_masks": batch.features_masks}
        masks["labels_masks"] = batch.labels_masks
        answer = self.ask(
            "output",
            model=model,
            dtype=dtype,
            inputs=self._written(batch.features),
            out=folder,
            **{
                name: self._written(arrays)
                for name, arrays in masks.items()
                if any(array is not None for array in arrays)
            },
        )
        return [read(folder / str(i)) for i in range(answer["n_outputs"])]

    def build(self, network, *, seed):
        """Return a model file that DL4J builds from a description, and its size.

        Parameters
        ----------
        network : mapping
            See Built.java.
        seed : int
            Of its parameters.
        """
        saved = self.new(".zip")
        answer = self.ask(
            "build", network=network, seed=seed, dtype="float64", save=saved
        )
        return saved, answer["n_params"]

    def fit(
        self,
        model,
        batches,
        *,
        dtype,
        epochs=0,
        pretrain=0,
        shaken_by=0,
        scores_first=False,
    ):
        """Return scores, and the model file that DL4J saves after further training.

        Parameters
        ----------
        model : path
        batches : sequence of DataSet or MultiDataSet
            None at all makes DL4J save what it has loaded.
        dtype : str
            ``"float32"`` or ``"float64"``.
        epochs : int
            So many passes over all, through an iterator; 0 trains each minibatch by
            itself, which ends no epoch. Of whole passes only the last score comes back.
        pretrain : int
            So many passes before that, for each layer that learns without labels.
        shaken_by : float
            Share of each parameter by which it is changed at random before all.
        scores_first : bool
            Whether scores are computed by themselves, in front of the training, and are
            not those that come with the gradients.
        """
        paths = [self.new(".bin") for _ in batches]
        for path, batch in zip(paths, batches, strict=True):
            batch.save(path)
        saved = self.new(".zip")
        answer = self.ask(
            "fit",
            model=model,
            dtype=dtype,
            datasets=paths,
            multi=any(not isinstance(batch, DataSet) for batch in batches),
            epochs=epochs,
            pretrain=pretrain,
            shaken_by=shaken_by,
            scores_first=scores_first,
            save=saved,
        )
        # Numbers that are not finite come as texts.
        return [float(score) for score in answer["scores"]], saved

    def _written(self, arrays):
        return [None if array is None else str(self.write(array)) for array in arrays]

    def write(self, array):
        """Return the path of a file with an array in it."""
        path = self.new(".array")
        with path.open("wb") as stream:
            write_array(stream, array)
        return path

    def _said(self):
        self._messages.flush()
        text = (self._folder / "messages.txt").read_text("utf-8", "replace")
        return text[-2000:] or "without a word"


def read(path):
    """Return the array in a file."""
    with path.open("rb") as stream:
        return read_array(stream, name=str(path))
