import numpy as np
import pytest

from daskdl.errors import OptionError, ShapeError
from daskdl.nn.activations import ACTIVATIONS
from daskdl.nn.losses import LOSSES, loss_function
from tests.gradients import check_gradient
from tests.unit.layers import golden

MASKS = ["", "mask_example.", "mask_output."]


def parts_of(case):
    """Return loss and activation of a golden file's name."""
    words = [word for word in case.split("_") if word != "saturated"]
    loss = {"nll": "negativeloglikelihood"}.get(words[0], words[0])
    return LOSSES[loss], ACTIVATIONS[words[-1]]


def golden_cases():
    """Return (file, mask) for what DL4J computed and daskdl does not refuse."""
    return [
        (name, mask)
        for name in golden.names("loss")
        for mask in MASKS
        if f"{mask}score_array" in golden.load("loss", name)
        and not (mask == "mask_output." and name.endswith("softmax"))
    ]


@pytest.mark.parametrize(("name", "mask"), golden_cases())
def test_scores_are_dl4js(name, mask):
    loss, activation = parts_of(name)
    case = golden.load("loss", name)
    expected = case[f"{mask}score_array"].ravel()
    if loss.name == "mae":
        # scoreExamples of DL4J forgets to divide by the number of outputs.
        expected = expected / case["labels"].shape[1]
    scores = loss.score_examples(
        case["labels"], case["pre"], activation, case.get(f"{mask}mask")
    )
    np.testing.assert_allclose(scores, expected, atol=1e-9)


@pytest.mark.parametrize(("name", "mask"), golden_cases())
def test_the_sum_of_scores_is_dl4js(name, mask):
    loss, activation = parts_of(name)
    case = golden.load("loss", name)
    scores = loss.score_examples(
        case["labels"], case["pre"], activation, case.get(f"{mask}mask")
    )
    assert scores.sum() == pytest.approx(float(case[f"{mask}score_sum"]), abs=1e-9)


@pytest.mark.parametrize(("name", "mask"), golden_cases())
def test_gradients_are_dl4js(name, mask):
    loss, activation = parts_of(name)
    case = golden.load("loss", name)
    grad = loss.gradient(
        case["labels"], case["pre"], activation, case.get(f"{mask}mask")
    )
    np.testing.assert_allclose(grad, case[f"{mask}gradient"], atol=1e-9)


def labels_and_mask(rng, activation, kind):
    labels = rng.random((6, 4))
    if activation == "softmax":
        labels /= labels.sum(axis=1, keepdims=True)
    masks = {
        "none": None,
        "rows": np.array([1, 0, 1, 1, 0, 1.0]),
        "column": np.array([[1, 0, 1, 1, 0, 1.0]]).T,
        "weights": np.array([1, 0.5, 2, 1, 0, 1.0]),
        "outputs": rng.integers(0, 2, (6, 4)).astype(float),
    }
    return labels, masks[kind]


PAIRS = [
    ("mcxent", "softmax"),
    ("mcxent", "sigmoid"),
    ("mcxent", "softplus"),
    ("negativeloglikelihood", "softmax"),
    ("xent", "sigmoid"),
    ("xent", "hardsigmoid"),
    ("mse", "identity"),
    ("mse", "tanh"),
    ("mse", "softmax"),
    ("mse", "gelu"),
    ("l2", "relu"),
    ("l2", "softsign"),
    ("l1", "identity"),
    ("l1", "softmax"),
    ("mae", "elu"),
    ("mae", "sigmoid"),
]
MASKED_PAIRS = [
    (loss, activation, mask)
    for loss, activation in PAIRS
    for mask in ("none", "rows", "column", "weights", "outputs")
    if (activation, mask) != ("softmax", "outputs")
]


@pytest.mark.parametrize(("loss", "activation", "mask"), MASKED_PAIRS)
def test_gradient_is_the_derivative_of_the_scores(rng, loss, activation, mask):
    labels, mask = labels_and_mask(rng, activation, mask)
    function = ACTIVATIONS[activation]

    def loss_and_grad(vector):
        preout = vector.reshape(labels.shape)
        scores = LOSSES[loss].score_examples(labels, preout, function, mask)
        grad = LOSSES[loss].gradient(labels, preout, function, mask)
        return float(scores.sum()), grad.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(labels.size))


@pytest.mark.parametrize("loss", LOSSES)
def test_single_outputs_of_a_softmax_cannot_be_masked(rng, loss):
    labels = rng.random((3, 4))
    with pytest.raises(OptionError, match="needs an activation other than softmax"):
        LOSSES[loss].gradient(labels, labels, ACTIVATIONS["softmax"], labels > 0.5)


def test_a_given_output_is_used(rng):
    labels, preout = rng.random((2, 3, 4))
    function = ACTIVATIONS["sigmoid"]
    scores = LOSSES["xent"].score_examples(
        labels, preout, function, output=function.forward(preout)
    )
    expected = LOSSES["xent"].score_examples(labels, preout, function)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("loss", ["mcxent", "xent"])
def test_certain_and_wrong_outputs_give_finite_scores_and_gradients(loss, activation):
    labels = np.array([[1, 0], [0, 1]], "f4")
    preout = np.array([[-1e4, 1e4], [1e4, -1e4]], "f4")
    function = ACTIVATIONS[activation]
    scores = LOSSES[loss].score_examples(labels, preout, function)
    grad = LOSSES[loss].gradient(labels, preout, function)
    assert np.isfinite(scores).all()
    assert np.isfinite(grad).all()


def test_labels_of_another_shape_are_refused():
    with pytest.raises(ShapeError, match=r"'mse': labels .* \(3, 4\), got \(3, 1\)"):
        LOSSES["mse"].gradient(
            np.ones((3, 1)), np.ones((3, 4)), ACTIVATIONS["identity"]
        )


def test_a_mask_of_another_shape_is_refused():
    rows = np.ones((3, 4))
    with pytest.raises(ShapeError, match=r"mask must have shape \(3,\).*got \(4,\)"):
        LOSSES["mse"].score_examples(rows, rows, ACTIVATIONS["identity"], np.ones(4))


def test_an_unknown_name_is_refused():
    with pytest.raises(OptionError, match=r"Did you mean 'mcxent'\?"):
        loss_function("mcxen")
