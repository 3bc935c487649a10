"""Every model that DL4J saved: loaded, computed with, saved and loaded again."""

import json

import numpy as np
import pytest

from daskdl import DataSet, MultiDataSet
from daskdl.errors import DaskdlError
from daskdl.formats.dl4j import model_zip
from daskdl.formats.dl4j.parameters import to_dl4j
from tests.golden.case_names import case_files

FILES = case_files("models", ".zip")
# Relative to the largest number of an array.
TOLERANCE = {"double": 1e-10, "float": 1e-5}


def named(file):
    """Return the case and the precision of a file."""
    name = file.partition("/")[2].removesuffix(".zip")
    if name.endswith("_double"):
        return name.removesuffix("_double"), "double"
    return name, "float"


class Expected:
    """What DL4J computed with a model."""

    def __init__(self, golden, name, precision):
        with np.load(golden / "models" / f"{name}.npz") as found:
            arrays = dict(found)
        prefix = f"{precision}."
        self.arrays = {
            key.removeprefix(prefix): value
            for key, value in arrays.items()
            if key.startswith(prefix)
        }
        # Masks are the same for both precisions.
        self._masks = {
            key.removeprefix("double."): value
            for key, value in arrays.items()
            if key.startswith(("double.fm", "double.lm"))
        }
        self.tolerance = TOLERANCE[precision]

    def __contains__(self, key):
        return key in self.arrays

    def several(self, what):
        names = [f"{what}{k}" for k in range(9)]
        return [self.arrays[name] for name in names if name in self.arrays]

    def masks(self, what, n):
        return [self._masks.get(f"{what}{k}") for k in range(n)]

    def batch(self):
        x, y = self.several("x"), self.several("y")
        masks = self.masks("fm", len(x)), self.masks("lm", len(y))
        if len(x) == len(y) == 1:
            return DataSet(x[0], y[0], masks[0][0], masks[1][0])
        return MultiDataSet(x, y, *masks)

    def check(self, found, key):
        expected = np.asarray(self.arrays[key], "f8")
        scale = np.abs(expected).max(initial=0) or 1
        np.testing.assert_allclose(
            np.asarray(found, "f8").reshape(expected.shape) / scale,
            expected / scale,
            rtol=0,
            atol=self.tolerance,
        )


@pytest.fixture(params=FILES)
def model(request, golden):
    name, precision = named(request.param)
    network = model_zip.load(golden / request.param)
    has_arrays = (golden / "models" / f"{name}.npz").is_file()
    expected = Expected(golden, name, precision) if has_arrays else None
    return network, expected, name


@pytest.fixture
def problems(manifest, model):
    cases = {c["name"]: c for c in manifest["cases"] if c["kind"] == "models"}
    case = cases.get(model[2], {})
    return case.get("dl4j_problems", []), case.get("stochastic_training", False)


def test_parameters_outputs_and_gradients(model, problems):
    network, expected, _ = model
    if expected is None or "x0" not in expected:
        return
    if "params" in expected:
        expected.check(to_dl4j(network, network.params), "params")
    x = expected.several("x")
    batch = expected.batch()
    masks = expected.masks("lm", network.n_outputs)
    found = network.output(
        x if len(x) > 1 else x[0],
        features_mask=expected.masks("fm", len(x)),
        labels_mask=masks if any(mask is not None for mask in masks) else None,
    )
    for k, output in enumerate(found if isinstance(found, list) else [found]):
        if f"out{k}" in expected:
            expected.check(output, f"out{k}")
    if "score_examples" in expected:
        scores = network.score_examples(batch, include_regularization=True)
        expected.check(scores, "score_examples")
    if "grad" in expected and not problems[1]:
        expected.check(network.compute_gradients(batch), "score")
        expected.check(summed_gradient(network, batch), "grad")


def summed_gradient(network, batch):
    """Return the gradient as DL4J has it before it divides by the examples."""
    gradient = network.gradients.copy()
    if network.conf.mini_batch:
        gradient *= batch.num_examples
    for slot in network.running_slots:
        part = slice(slot.offset, slot.stop)
        gradient[part] = network.gradients[part]
    return to_dl4j(network, gradient)


def test_saved_again_it_is_the_same(model, tmp_path):
    network, _, _ = model
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    again = model_zip.load(path)
    np.testing.assert_array_equal(again.params, network.params)
    np.testing.assert_array_equal(again.updater_state, network.updater_state)
    assert again.conf == network.conf
    assert (again.iteration_count, again.epoch_count) == (
        network.iteration_count,
        network.epoch_count,
    )
