"""A golden network built from our own configuration, with DL4J's parameters in it."""

import io
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daskdl.arrays.namespace import to_device
from daskdl.data.dataset import DataSet
from daskdl.dl4j.arrays.nd4j import read_array
from daskdl.dl4j.network.parameters import from_dl4j, to_dl4j
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dialects import DL4J


def zipped_array(path, entry):
    """Return an array of a model zip as a vector; None if it is not there."""
    with zipfile.ZipFile(path) as archive:
        if entry not in archive.namelist():
            return None
        return read_array(io.BytesIO(archive.read(entry)), name=entry).ravel()


def arrays(path, prefix=""):
    with np.load(path) as found:
        return {
            name.removeprefix(prefix): found[name]
            for name in found.files
            if name.startswith(prefix)
        }


def set_params(network, recorded):
    """Write DL4J's flat parameters into a network, wherever it lives."""
    params = from_dl4j(network, recorded)
    network.params[...] = to_device(params, network.params)


@dataclass
class Golden:
    """One case of models/: what DL4J computed, and the same network here.

    Parameters
    ----------
    folder : path
        models/ of the golden files.
    name : str
        Of the case.
    conf : configuration
        Of the network, without its dtype.
    precision : {"double", "float"}
        Which of the two recordings.
    """

    folder: Any
    name: str
    conf: Any
    precision: str = "double"
    network: Any = field(init=False)
    expected: dict = field(init=False)

    def __post_init__(self):
        is_double = self.precision == "double"
        path = self.folder / f"{self.name}{'_double' if is_double else ''}.zip"
        dtype = "float64" if is_double else "float32"
        self.network = MultiLayerNetwork(self.conf.replaced(dtype=dtype, dialect=DL4J))
        flat = zipped_array(path, "coefficients.bin")
        if flat is not None:
            set_params(self.network, flat)
        recorded = self.folder / f"{self.name}.npz"
        self.expected = arrays(recorded, f"{self.precision}.")
        for name, mask in arrays(recorded, "double.").items():
            # The masks are the same for both, and recorded once.
            if name in ("fm0", "lm0"):
                self.expected.setdefault(name, mask)
        self.n_examples = len(self.expected["x0"])

    @property
    def data(self):
        names = ("x0", "y0", "fm0", "lm0")
        return DataSet(*(self.expected.get(name) for name in names))

    def output(self):
        return self.network.output(
            self.expected["x0"],
            features_mask=self.expected.get("fm0"),
            labels_mask=self.expected.get("lm0"),
        )

    def gradient(self):
        """Return score and gradient as DL4J gives them: sums over the examples."""
        score = self.network.compute_gradients(self.data)
        sums = self.network.gradients * self.n_examples
        for slot in self.network.running_slots:
            part = slice(slot.offset, slot.stop)
            sums[part] = self.network.gradients[part]
        return score, to_dl4j(self.network, sums)


@dataclass
class Replay:
    """One case of training/: the same steps here as DL4J took them."""

    folder: Any
    name: str
    conf: Any
    dtype: str = "float64"
    params: list = field(init=False, default_factory=list)
    scores: list = field(init=False, default_factory=list)

    def __post_init__(self):
        self.expected = arrays(self.folder / f"{self.name}.npz")
        self.network = MultiLayerNetwork(
            self.conf.replaced(dtype=self.dtype, dialect=DL4J)
        )
        first = self.expected["params_init"].ravel()
        set_params(self.network, first)

    def run(self, n_steps=10):
        """Train on the recorded minibatches."""
        for step in range(n_steps):
            names = (f"{kind}{step}" for kind in ("x", "y", "fm", "lm"))
            batch = DataSet(*(self.expected.get(name) for name in names))
            self.scores.append(self.network.fit_minibatch(batch))
            self.params.append(to_dl4j(self.network, self.network.params.copy()))
        return self


def deviation(actual, expected):
    """Return the largest difference as a share of the largest expected value."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.size == expected.size, f"{actual.shape} against {expected.shape}"
    if expected.size == 0:
        return 0.0
    difference = np.abs(actual.ravel() - expected.ravel().astype(float)).max()
    return float(difference / max(np.abs(expected).max(), 1e-30))
