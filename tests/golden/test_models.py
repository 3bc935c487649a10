"""Every model that DL4J saved: loaded, computed with, saved and loaded again."""

import numpy as np
import pytest

from daskdl import DataSet, MultiDataSet
from daskdl.arrays.namespace import to_host
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.parameters import to_dl4j
from daskdl.errors import ShapeError
from daskdl.nn.batches import Arrays
from tests.golden.case_names import case_files

FILES = case_files("models", ".zip")
# Relative to the largest number of an array.
TOLERANCE = {"double": 1e-12, "float": 1e-6}


# DL4J's own file says of a dense layer that volumes have fewer numbers than they have;
# its predictions fail as ours do.
TOO_NARROW = {"conv3d", "deconv3d", "subsampling3d_max"}
# DL4J counts these wrongly: see the tests at the end.
MISCOUNTED = {"losslayer_mse", "no_params", "cnnloss_nhwc"}


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

    def batch(self, network):
        x, y = self.several("x"), self.several("y")
        if y and len(x[0]) != len(y[0]):
            return Unequal(network, x[0], y[0])
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


class Unequal:
    """A minibatch with more labels than features, which a DataSet refuses.

    The layer in front of the output layer made several examples of each.
    """

    def __init__(self, network, x, y):
        self.num_examples = len(x)
        arrays = Arrays([x], [y], [None], [None])
        network._checked = lambda batch, **options: arrays


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
    network, expected, name = model
    if expected is None or "x0" not in expected:
        return
    if name in TOO_NARROW:
        with pytest.raises(ShapeError, match=r"x must have shape \(batch, \d+\), got"):
            network.output(expected.several("x")[0])
        assert any(problem.startswith("output: ") for problem in problems[0])
        return
    if "params" in expected:
        expected.check(to_dl4j(network, network.params), "params")
    x = expected.several("x")
    batch = expected.batch(network) if "y0" in expected else None
    masks = expected.masks("lm", network.n_outputs)
    found = network.output(
        x if len(x) > 1 else x[0],
        features_mask=expected.masks("fm", len(x)),
        labels_mask=masks if any(mask is not None for mask in masks) else None,
    )
    for k, output in enumerate(found if isinstance(found, list) else [found]):
        if f"out{k}" in expected:
            expected.check(output, f"out{k}")
    if "score_examples" in expected and not isinstance(batch, Unequal):
        scores = network.score_examples(batch, include_regularization=True)
        expected.check(scores, "score_examples")
    if "score_inference" in expected and name not in MISCOUNTED:
        expected.check(network.compute_score(batch), "score_inference")
    if "grad" in expected and not problems[1]:
        score = network.compute_gradients(batch)
        if name not in MISCOUNTED:
            expected.check(score, "score")
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
    for found, kept in (
        (again.params, network.params),
        (again.updater_state, network.updater_state),
    ):
        np.testing.assert_array_equal(to_host(found), to_host(kept))
    assert again.conf == network.conf
    assert (again.iteration_count, again.epoch_count) == (
        network.iteration_count,
        network.epoch_count,
    )


def recorded(golden, name):
    expected = Expected(golden, name, "double")
    network = model_zip.load(golden / "models" / f"{name}_double.zip")
    return network, expected.arrays


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("name", "activation", "slope"),
    [
        ("losslayer_mse", sigmoid, lambda out: out * (1 - out)),
        ("no_params", np.tanh, lambda out: 1 - out**2),
    ],
)
def test_dl4j_scores_the_gradient_of_a_loss_layer(golden, name, activation, slope):
    """Its backward pass overwrites what its score is computed from afterwards."""
    network, arrays = recorded(golden, name)
    out, labels = arrays["out0"], arrays["y0"]
    gradient = 2 * (out - labels) / labels.shape[1] * slope(out)
    overwritten = ((activation(gradient) - labels) ** 2).mean()
    np.testing.assert_allclose(overwritten, arrays["score"], rtol=1e-12)
    score = network.compute_gradients(DataSet(arrays["x0"], labels))
    np.testing.assert_allclose(score, ((out - labels) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(score, arrays["score_inference"], rtol=1e-12)


def test_dl4j_scores_channels_last_along_the_wrong_axis(golden):
    """Its softmax for the score runs along the height of NHWC images."""
    network, arrays = recorded(golden, "cnnloss_nhwc")
    labels = arrays["y0"]
    score = network.compute_gradients(DataSet(arrays["x0"], labels))
    preout = to_host(network._program.runs[-1].loss.preout).reshape(labels.shape)
    powers = np.exp(preout - preout.max(axis=1, keepdims=True))
    wrong = -(labels * np.log(powers / powers.sum(axis=1, keepdims=True))).sum()
    np.testing.assert_allclose(wrong / len(labels), arrays["score"], rtol=1e-12)
    right = -(labels * np.log(arrays["out0"])).sum() / len(labels)
    np.testing.assert_allclose(score, right, rtol=1e-12)
