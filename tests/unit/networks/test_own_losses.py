"""Losses and vertices of one's own: trained, kept, and refused where they are wrong."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.nn.conf.schema import json_schema_of
from daskdl.training.registered_kinds import packed_kinds
from tests.gradients import check_gradient

ROWS = dl.FeedForward(3)


@dl.loss("log_cosh_by_test")
class LogCosh(dl.LossDefinition):
    """The logarithm of the hyperbolic cosine of the error.

    Parameters
    ----------
    width : float
        Of the middle, where it is a square.
    """

    width: float = 1.0

    def score(self, labels, output):
        return self.width**2 * np.log(np.cosh((output - labels) / self.width))

    def gradient(self, labels, output):
        return self.width * np.tanh((output - labels) / self.width)


@dl.loss("row_error_by_test")
class RowError(dl.LossDefinition):
    """The squared length of the error of a row."""

    def score(self, labels, output):
        return ((output - labels) ** 2).sum(axis=1)

    def gradient(self, labels, output):
        return 2 * (output - labels)


@dl.vertex("difference_by_test")
class Difference(dl.VertexDefinition):
    """The first input without the second."""

    def forward(self, run, inputs):
        first, second = inputs
        return first - second, lambda grad: [grad, -grad]


def network(loss, *, activation="sigmoid", kind=dl.Output, input_type=ROWS):
    layers = [kind(2, loss=loss, activation=activation)]
    conf = dl.MultiLayerConfiguration(input=input_type, layers=layers, dtype="float64")
    return dl.MultiLayerNetwork(conf)


def graph(vertex="difference_by_test"):
    given = vertex if isinstance(vertex, str) else type(vertex).__name__
    vertices = {
        "left": dl.Dense(4, inputs=["a"], activation="tanh"),
        "right": dl.Dense(4, inputs=["b"], activation="tanh"),
        "both": {"type": given, "inputs": ["left", "right"]},
        "out": dl.Output(2, inputs=["both"]),
    }
    conf = dl.ComputationGraphConfiguration(
        inputs={"a": ROWS, "b": ROWS},
        vertices=vertices,
        outputs=["out"],
        dtype="float64",
    )
    return dl.ComputationGraph(conf)


def batch(rng, labels_mask=None):
    features, labels = rng.standard_normal((6, 3)), rng.random((6, 2))
    return dl.DataSet(features, labels, labels_mask=labels_mask)


def check_gradients_of(net, data):
    def loss_and_grad(params):
        net.params[...] = params
        score = net.compute_gradients(data)
        return score, net.gradients.copy()

    check_gradient(loss_and_grad, net.params.copy())


@pytest.mark.parametrize("loss", [LogCosh(), LogCosh(width=3), "row_error_by_test"])
@pytest.mark.parametrize("activation", ["identity", "sigmoid", "softmax"])
@pytest.mark.parametrize("mask", [None, np.array([[1], [0], [1], [1], [0], [1.0]])])
def test_its_gradients_are_those_of_the_score(rng, loss, activation, mask):
    check_gradients_of(network(loss, activation=activation), batch(rng, mask))


def test_single_outputs_are_masked_where_it_scores_them(rng):
    mask = rng.integers(0, 2, (6, 2)).astype(float)
    check_gradients_of(network(LogCosh()), batch(rng, mask))
    with pytest.raises(OptionError, match="the mask must be of whole examples, since"):
        network(RowError()).compute_gradients(batch(rng, mask))


def test_steps_of_series_are_rows(rng):
    net = network(LogCosh(), kind=dl.RnnOutput, input_type=dl.Recurrent(3))
    data = dl.DataSet(rng.standard_normal((2, 3, 4)), rng.random((2, 2, 4)))
    check_gradients_of(net, data)


def test_the_score_is_that_of_its_formula(rng):
    net, data = network(LogCosh(width=2)), batch(rng)
    error = net.output(data.features) - data.labels
    expected = 4 * np.log(np.cosh(error / 2)).sum() / 6
    assert net.compute_score(data) == pytest.approx(expected)


def test_it_is_kept(tmp_path, rng):
    net = network(LogCosh(width=2))
    path = str(tmp_path / "own.safetensors")
    net.save(path)
    assert dl.load(path).conf == net.conf
    with pytest.raises(FormatError, match="log_cosh_by_test"):
        net.save(str(tmp_path / "own.zip"))


def test_options_and_spellings_are_those_of_any_other():
    said = dl.Output(1, loss={"type": "LogCosh", "width": 3})
    assert said == dl.Output(1, loss=LogCosh(width=3))
    assert type(dl.Output(1, loss="log cosh by test").loss) is LogCosh
    with pytest.raises(OptionError, match="Did you mean 'mse'"):
        dl.Output(1, loss="msee")


def test_a_loss_of_the_package_keeps_its_name():
    with pytest.raises(OptionError, match="loss 'kld': the name must not be taken"):

        @dl.loss("kld")
        class Mine(dl.LossDefinition):
            pass


def test_schemas_and_workers_know_them():
    schema = "".join(json_schema_of(dl.ComputationGraphConfiguration)["$defs"])
    assert "LogCosh" in schema
    assert "Difference" in schema
    assert packed_kinds(network(LogCosh()).conf.to_dict())
    assert packed_kinds(graph().conf.to_dict())


@pytest.mark.parametrize(
    ("score", "gradient", "message"),
    [
        (lambda y, p: 1.0, lambda y, p: p - y, r"score must return an array of shape"),
        (lambda y, p: p - y, lambda y, p: 1.0, r"gradient must return an array of sha"),
    ],
)
def test_what_comes_out_of_a_loss_is_checked(
    forget_kinds, rng, score, gradient, message
):
    @dl.loss("odd_loss_by_test")
    class Odd(dl.LossDefinition):
        def score(self, labels, output):
            return score(labels, output)

        def gradient(self, labels, output):
            return gradient(labels, output)

    with pytest.raises(ShapeError, match=message):
        network(Odd()).compute_gradients(batch(rng))


def pairs(rng):
    inputs = [rng.standard_normal((6, 3)) for _ in range(2)]
    return dl.MultiDataSet(inputs, [np.eye(2)[rng.integers(0, 2, 6)]])


def test_gradients_through_a_vertex_of_ones_own(rng):
    check_gradients_of(graph(), pairs(rng))


def test_a_vertex_is_kept(tmp_path, rng):
    net, data = graph(), pairs(rng)
    net.fit(data)
    path = str(tmp_path / "own.safetensors")
    net.save(path)
    np.testing.assert_array_equal(
        dl.load(path).output(data.features), net.output(data.features)
    )
    assert "Difference" in dl.network_svg(net.conf)


def _no_list(inputs):
    return inputs[0] - inputs[1], lambda grad: grad


def _writing(inputs):
    first, second = inputs
    first -= second
    return first, lambda grad: [grad, -grad]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (_no_list, "'both': backward must return a list of gradients of the shapes"),
        (_writing, "'both': forward must not write to its inputs, which others read"),
        (lambda inputs: inputs[0], "'both': forward must return the output and the"),
        (lambda inputs: (inputs[0][:, :2], None), "'both': forward must return the ou"),
        (
            lambda inputs: (inputs[0][:, :2], lambda grad: [grad, grad]),
            r"'both': forward must return an output of shape \(batch, 4\), got",
        ),
    ],
)
def test_what_comes_out_of_a_vertex_is_checked(forget_kinds, rng, made, message):
    @dl.vertex("odd_vertex_by_test")
    class Odd(dl.VertexDefinition):
        def forward(self, run, inputs):
            return made(inputs)

    with pytest.raises((ShapeError, OptionError), match=message):
        graph("odd_vertex_by_test").fit(pairs(rng))


@dl.loss("scribbling_loss_by_test")
class ScribblingLoss(LogCosh):
    """Writes to an array that it is lent.

    Parameters
    ----------
    method : str
        Which method does.
    array : int
        To which array.
    """

    method: str = "score"
    array: int = 0

    def _scribble(self, method, *arrays):
        if self.method == method:
            arrays[self.array][...] = 0

    def score(self, labels, output):
        self._scribble("score", labels, output)
        return super().score(labels, output)

    def gradient(self, labels, output):
        self._scribble("gradient", labels, output)
        return super().gradient(labels, output)


@pytest.mark.parametrize("array", [0, 1], ids=["labels", "output"])
@pytest.mark.parametrize("method", ["score", "gradient"])
def test_a_loss_that_writes_to_what_others_read_is_refused(rng, method, array):
    net, data = network(ScribblingLoss(method=method, array=array)), batch(rng)
    labels = data.labels.copy()
    with pytest.raises(OptionError, match=f"{method} must not write to labels or out"):
        net.compute_gradients(data)
    np.testing.assert_array_equal(data.labels, labels)


@dl.loss("returning_by_test")
class Returning(dl.LossDefinition):
    """Returns an array that it is lent: the loss is half the squared output."""

    def score(self, labels, output):
        return 0.5 * output**2

    def gradient(self, labels, output):
        return output


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", ["identity", "tanh", "sigmoid", "softmax"])
def test_a_gradient_may_be_what_was_lent(rng, activation, dtype):
    """It goes on to compiled code, which is for arrays that may be written to."""
    net = network(Returning(), activation=activation)
    net = dl.MultiLayerNetwork(net.conf.replaced(dtype=dtype))
    net.fit(batch(rng))
    assert np.isfinite(net.params).all()
    if dtype == "float64":
        check_gradients_of(net, batch(rng))
