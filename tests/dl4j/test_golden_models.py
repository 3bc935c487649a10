"""Models of DL4J that we loaded and saved again: DL4J computes what it did before."""

import numpy as np
import pytest

from daskdl.dl4j.network import model_zip
from daskdl.nn.batches import Arrays
from tests.dl4j.trials import close
from tests.golden.case_names import case_files

FILES = case_files("models", ".zip")
DTYPES = {"float": "float32", "double": "float64"}
TOLERANCE = {"float32": 1e-6, "float64": 1e-10}


class Recorded:
    """What DL4J was given, and what it computed with its own file."""

    def __init__(self, folder, file):
        name = file.partition("/")[2].removesuffix(".zip")
        precision = "double" if name.endswith("_double") else "float"
        self.dtype = DTYPES[precision]
        self._path = folder / "models" / f"{name.removesuffix('_double')}.npz"
        self._arrays = self._read()
        self.features = self._several(f"{precision}.x")
        self.outputs = self._several(f"{precision}.out")

    def batch(self):
        # The masks are the same for both precisions.
        masks = self._masks("fm", self.features), self._masks("lm", self.outputs)
        return Arrays(self.features, [], *masks)

    def _read(self):
        if not self._path.is_file():
            return {}
        with np.load(self._path) as found:
            return dict(found)

    def _several(self, what):
        names = [f"{what}{i}" for i in range(9)]
        return [self._arrays[name] for name in names if name in self._arrays]

    def _masks(self, what, arrays):
        masks = [self._arrays.get(f"double.{what}{i}") for i in range(len(arrays))]
        return [None if mask is None else mask.astype(self.dtype) for mask in masks]


@pytest.fixture(params=FILES)
def file(request):
    return request.param


@pytest.fixture
def recorded(golden, file):
    return Recorded(golden, file)


@pytest.fixture
def network(golden, file):
    return model_zip.load(golden / file)


@pytest.fixture
def saved(network, tmp_path):
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    return path


def test_outputs(dl4j, recorded, saved):
    # Where DL4J failed with its own file there is none.
    if recorded.outputs:
        found = dl4j.output(saved, recorded.batch(), dtype=recorded.dtype)
        for ours, theirs in zip(found, recorded.outputs, strict=True):
            close(ours, theirs, TOLERANCE[recorded.dtype])


def test_dl4j_saves_what_it_loads(dl4j, recorded, network, saved):
    _, path = dl4j.fit(saved, [], dtype=recorded.dtype)
    again = model_zip.load(path)
    np.testing.assert_array_equal(again.params, network.params, strict=True)
    np.testing.assert_array_equal(again.updater_state, network.updater_state)
