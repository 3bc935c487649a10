from typing import get_args

import numpy as np
import pytest

from daskdl.errors import OptionError, ShapeError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    MeanSquaredError,
    MixtureDensity,
    SparseCrossEntropy,
)
from daskdl.nn.conf.names import LossLiteral
from daskdl.nn.losses.table import loss_function
from tests.unit.layers import golden

NAMES = get_args(LossLiteral)
MASKS = ["", "mask_example.", "mask_output."]


def golden_cases(key):
    """Return (case, mask) for what DL4J computed and did not refuse."""
    return [
        (name, mask)
        for name in golden.names("loss")
        for mask in MASKS
        if f"{mask}{key}" in golden.load("loss", name)
    ]


def evaluated(method, name, mask):
    """Return what a method of the loss gives for a case, and what DL4J gave."""
    case = golden.load("loss", name)
    loss, activation = golden.loss_of(name, case)
    key = {"score_examples": "score_array", "score": "score_sum"}.get(method, method)
    result = getattr(loss, method)(
        case["labels"], case["pre"], activation, case.get(f"{mask}mask")
    )
    return result, case[f"{mask}{key}"]


@pytest.mark.parametrize(("name", "mask"), golden_cases("score_array"))
def test_scores_are_dl4js(name, mask):
    scores, expected = evaluated("score_examples", name, mask)
    np.testing.assert_allclose(scores, expected.ravel(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "mask"), golden_cases("score_sum"))
def test_the_score_of_all_rows_is_dl4js(name, mask):
    score, expected = evaluated("score", name, mask)
    assert score == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("name", "mask"), golden_cases("gradient"))
def test_gradients_are_dl4js(name, mask):
    grad, expected = evaluated("gradient", name, mask)
    # DL4J divides 0 by 0 where a label of 0 meets an output that underflows to 0.
    known = np.isfinite(expected)
    np.testing.assert_allclose(grad[known], expected[known], rtol=1e-12, atol=1e-12)
    assert np.isfinite(grad).all()


def one_hot(rng, shape):
    return np.eye(shape[1])[rng.integers(0, shape[1], shape[0])]


def soft(rng, shape):
    labels = rng.random(shape)
    return labels / labels.sum(axis=1, keepdims=True)


def signs(rng, shape):
    return rng.choice([-1.0, 1.0], shape)


def bits(rng, shape):
    """Return 0 and 1 with some of both in each row."""
    labels = rng.integers(0, 2, shape).astype(float)
    labels[:, 0], labels[:, 1] = 0, 1
    return labels


def classes(rng, shape):
    return rng.integers(0, shape[1], (shape[0], 1)).astype(float)


def positive(rng, shape):
    return rng.uniform(0.1, 2, shape)


def normal(rng, shape):
    return rng.standard_normal(shape)


WEIGHTS = [0.5, 2.0, 1.0, 0.25]
PAIRS = [
    ("mcxent", "softmax", soft),
    ("mcxent", "sigmoid", soft),
    ("mcxent", "softplus", soft),
    (CrossEntropy(weights=WEIGHTS), "softmax", soft),
    (CrossEntropy(weights=WEIGHTS), "sigmoid", soft),
    ("negativeloglikelihood", "softmax", one_hot),
    ("sparse_mcxent", "softmax", classes),
    ("sparse_mcxent", "sigmoid", classes),
    (SparseCrossEntropy(weights=WEIGHTS), "softmax", classes),
    ("xent", "sigmoid", bits),
    ("xent", "hardsigmoid", positive),
    (BinaryCrossEntropy(weights=WEIGHTS), "sigmoid", bits),
    ("mse", "identity", normal),
    ("mse", "tanh", normal),
    ("mse", "softmax", soft),
    ("mse", "gelu", normal),
    (MeanSquaredError(weights=WEIGHTS), "softmax", soft),
    ("l2", "relu", normal),
    ("l2", "softsign", normal),
    ("l1", "identity", normal),
    ("l1", "softmax", normal),
    ("mae", "elu", normal),
    ("mae", "sigmoid", normal),
    ("mape", "identity", positive),
    ("mape", "softplus", positive),
    ("msle", "sigmoid", positive),
    ("msle", "softplus", positive),
    ("kl_divergence", "softmax", soft),
    ("kl_divergence", "sigmoid", soft),
    ("cosine_proximity", "identity", normal),
    ("cosine_proximity", "softmax", normal),
    ("hinge", "identity", signs),
    ("hinge", "tanh", signs),
    ("squared_hinge", "identity", signs),
    ("poisson", "softplus", positive),
    ("poisson", "sigmoid", positive),
    ("wasserstein", "identity", signs),
    ("wasserstein", "tanh", signs),
    ("multilabel", "sigmoid", bits),
    ("multilabel", "identity", bits),
    (FMeasure(beta=0.5), "softmax", soft),
    ("fmeasure", "sigmoid", bits),
    (MixtureDensity(mixtures=2, label_width=3), "identity", normal),
]
WIDTHS = {"fmeasure": 2, "mixture_density": 10}
ROW_MASKS = {
    "none": None,
    "rows": np.array([1, 0, 1, 1, 0, 1.0]),
    "column": np.array([[1, 0, 1, 1, 0, 1.0]]).T,
    "weights": np.array([1, 0.5, 2, 1, 0, 1.0]),
}
# Whole rows cannot be masked in part; see the tests of these below.
NO_SINGLE_OUTPUTS = {"cosine_proximity", "fmeasure", "mixture_density"}


def made(rng, conf, activation, make_labels):
    """Return loss, activation, labels and pre-activations of six rows."""
    loss = loss_function(conf)
    n_out = WIDTHS.get(loss.name, 4)
    if (loss.name, activation) == ("fmeasure", "sigmoid"):
        n_out = 1
    labels = make_labels(rng, (6, max(2, n_out)))[:, -loss.label_columns(n_out) :]
    return (
        loss,
        activation_function(activation),
        labels,
        rng.standard_normal((6, n_out)),
    )


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_a_mask_drops_may_be_anything(rng, value):
    labels, preout = rng.random((2, 3, 4))
    labels[1] = value
    mask = np.array([1.0, 0, 1])
    loss, function = loss_function("mse"), activation_function("identity")
    assert np.isfinite(loss.score(labels, preout, function, mask))
    assert not loss.gradient(labels, preout, function, mask)[1].any()


def test_padding_of_0_does_not_spoil_the_percentage_error(rng):
    labels, preout = rng.random((2, 3, 4))
    labels[1] = 0
    loss, function = loss_function("mape"), activation_function("identity")
    kept = [0, 2]
    expected = loss.score(labels[kept], preout[kept], function)
    mask = np.array([1.0, 0, 1])
    assert loss.score(labels, preout, function, mask) == pytest.approx(expected)


def test_a_percentage_of_0_is_infinite():
    loss, function = loss_function("mape"), activation_function("identity")
    assert loss.score(np.zeros((1, 2)), np.ones((1, 2)), function) == np.inf


class TestRefusedMasks:
    @pytest.mark.parametrize("name", sorted(NO_SINGLE_OUTPUTS - {"mixture_density"}))
    def test_single_outputs_of_what_is_no_sum_over_outputs(self, rng, name):
        rows = rng.random((3, 2))
        with pytest.raises(
            OptionError, match=r"mask must be of whole examples.*single outputs"
        ):
            loss_function(name).score(
                rows, rows, activation_function("sigmoid"), np.ones((3, 2))
            )

    def test_single_parameters_of_a_mixture(self):
        loss = loss_function(MixtureDensity(mixtures=1, label_width=1))
        with pytest.raises(OptionError, match="'mixture_density': the mask must be of"):
            loss.gradient(
                np.ones((2, 1)),
                np.ones((2, 3)),
                activation_function("identity"),
                np.ones((2, 3)),
            )

    def test_another_shape(self):
        rows = np.ones((3, 4))
        with pytest.raises(
            ShapeError, match=r"mask must have shape \(3,\).*got \(4,\)"
        ):
            loss_function("mse").score_examples(
                rows, rows, activation_function("identity"), np.ones(4)
            )


class TestFMeasure:
    def test_single_examples_have_no_score(self):
        rows = np.ones((3, 1))
        with pytest.raises(OptionError, match="'fmeasure': scores must be asked for"):
            loss_function("fmeasure").score_examples(
                rows, rows, activation_function("sigmoid")
            )

    @pytest.mark.parametrize("method", ["score", "gradient"])
    def test_without_positives_there_is_nothing_to_learn(self, method):
        labels, preout = np.zeros((3, 1)), np.zeros((3, 1))
        function = activation_function("relu")
        result = getattr(loss_function("fmeasure"), method)(labels, preout, function)
        assert not np.any(result)


class TestMultiLabel:
    def test_rows_without_pairs_are_0(self):
        labels, preout = np.array([[1.0, 1], [0, 0]]), np.ones((2, 2))
        function, loss = activation_function("identity"), loss_function("multilabel")
        assert loss.score(labels, preout, function) == 0
        assert not loss.gradient(labels, preout, function).any()

    def test_masked_outputs_are_in_no_pair(self, rng):
        labels, preout = bits(rng, (5, 6)), rng.standard_normal((5, 6))
        function, loss = activation_function("identity"), loss_function("multilabel")
        mask = np.ones_like(labels)
        mask[:, 4:] = 0
        expected = loss.score_examples(labels[:, :4], preout[:, :4], function)
        labels[:, 4:] = np.nan
        scores = loss.score_examples(labels, preout, function, mask)
        np.testing.assert_allclose(scores, expected)
        assert not loss.gradient(labels, preout, function, mask)[:, 4:].any()

    def test_it_is_the_mean_over_pairs(self, rng):
        labels, preout = bits(rng, (5, 6)), rng.standard_normal((5, 6))
        expected = [
            np.mean([np.exp(q - p) for p in row[y == 1] for q in row[y == 0]])
            for y, row in zip(labels, preout, strict=True)
        ]
        scores = loss_function("multilabel").score_examples(
            labels, preout, activation_function("identity")
        )
        np.testing.assert_allclose(scores, expected)


def test_the_density_far_from_all_centers_is_no_infinite_score():
    loss = loss_function(MixtureDensity(mixtures=2, label_width=1))
    score = loss.score(
        np.array([[1000.0]]), np.zeros((1, 6)), activation_function("identity")
    )
    assert score == pytest.approx(1000**2 / 2 + np.log(2 * np.pi) / 2)


class TestLabels:
    def test_another_shape_is_refused(self):
        with pytest.raises(
            ShapeError, match=r"'mse': labels .* \(3, 4\) with .*, got \(3, 1\)"
        ):
            loss_function("mse").gradient(
                np.ones((3, 1)), np.ones((3, 4)), activation_function("identity")
            )

    def test_sparse_labels_are_one_column(self):
        with pytest.raises(ShapeError, match=r"must have shape \(3, 1\)"):
            loss_function("sparse_mcxent").gradient(
                np.ones((3, 4)), np.ones((3, 4)), activation_function("softmax")
            )


@pytest.mark.parametrize(
    ("conf", "n_out", "columns"),
    [
        ("mse", 4, 4),
        ("sparse_mcxent", 4, 1),
        ("fmeasure", 2, 2),
        (MixtureDensity(mixtures=2, label_width=3), 10, 3),
    ],
)
def test_label_columns(conf, n_out, columns):
    assert loss_function(conf).label_columns(n_out) == columns


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (MeanSquaredError(weights=[1, 2]), "loss.weights: must hold a number for each"),
        (SparseCrossEntropy(weights=[1, 2]), "loss.weights: must hold a number for"),
        ("fmeasure", "'fmeasure': n_out: must be 1 or 2 with the loss fmeasure, got 4"),
        (MixtureDensity(mixtures=2, label_width=3), r"label_width\) = 10 .*, got 4"),
    ],
)
def test_a_number_of_outputs_that_cannot_be_is_refused(conf, message):
    with pytest.raises(OptionError, match=message):
        loss_function(conf).label_columns(4)


def test_a_given_output_is_used(rng):
    labels, preout = rng.random((2, 3, 4))
    function, loss = activation_function("sigmoid"), loss_function("xent")
    scores = loss.score_examples(
        labels, preout, function, output=function.forward(preout)
    )
    expected = loss.score_examples(labels, preout, function)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(("conf", "activation", "make_labels"), PAIRS)
def test_nothing_but_out_is_written(rng, conf, activation, make_labels):
    loss, function, labels, preout = made(rng, conf, activation, make_labels)
    output, out = function.forward(preout), np.full_like(preout, np.nan)
    before = labels.copy(), preout.copy(), output.copy()
    grad = loss.gradient(labels, preout, function, output=output, out=out)
    loss.score(labels, preout, function, output=output)
    assert grad is out
    assert np.isfinite(out).all()
    np.testing.assert_equal((labels, preout, output), before)


@pytest.mark.parametrize(("conf", "activation", "make_labels"), PAIRS)
def test_float32_stays_float32(rng, conf, activation, make_labels):
    loss, function, labels, preout = made(rng, conf, activation, make_labels)
    labels, preout = labels.astype("f4"), preout.astype("f4")
    assert loss.gradient(labels, preout, function).dtype == np.float32
    if loss.name != "fmeasure":
        assert loss.score_examples(labels, preout, function).dtype == np.float32


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize(
    "conf",
    [
        "mcxent",
        "xent",
        "kl_divergence",
        CrossEntropy(softmax_clip_eps=0),
        BinaryCrossEntropy(clip_eps=0),
    ],
)
def test_certain_and_wrong_outputs_give_finite_scores_and_gradients(conf, activation):
    labels = np.array([[1, 0], [0, 1]], "f4")
    preout = np.array([[-1e4, 1e4], [1e4, -1e4]], "f4")
    function, loss = activation_function(activation), loss_function(conf)
    scores = loss.score_examples(labels, preout, function)
    grad = loss.gradient(labels, preout, function)
    assert np.isfinite(scores).all()
    assert np.isfinite(grad).all()


def test_losses_are_made_once():
    conf = MeanSquaredError(weights=[1, 2])
    assert loss_function(conf) is loss_function(MeanSquaredError(weights=[1, 2]))


def test_an_unknown_name_is_refused():
    with pytest.raises(OptionError, match=r"loss_function: .*Did you mean 'mcxent'\?"):
        loss_function("mcxen")


def test_a_mixture_cannot_do_without_options():
    with pytest.raises(OptionError, match=r"loss_function\.mixtures: must be given"):
        loss_function("mixture_density")
