"""Every loss behind every activation: the gradient is the derivative of the score."""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.losses import (
    AbsoluteError,
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    MixtureDensity,
    SparseCrossEntropy,
    SquaredError,
)
from daskdl.nn.conf.names import LossLiteral
from daskdl.nn.losses.table import loss_function
from tests.gradients import check_gradient
from tests.unit.layers.test_activations import ALL
from tests.unit.layers.test_losses import bits, classes, normal, positive, signs

WEIGHTS = [0.5, 2.0, 1.0, 0.25]
ANY, PROBABILITIES, ABOVE_0 = (-3, 3), (0.05, 0.95), (0.05, 3)


def shares(rng, shape):
    """Return labels that do not add up to 1, which nobody asks of them."""
    return rng.random(shape)


@dataclass(frozen=True)
class Case:
    """A loss, its labels, and the outputs that it takes, away from clips."""

    conf: Any
    labels: Any = normal
    outputs: tuple[float, float] = ANY
    n_out: int = 4


CASES = {
    "mcxent": Case("mcxent", shares, ABOVE_0),
    "mcxent, weights": Case(CrossEntropy(weights=WEIGHTS), shares, ABOVE_0),
    "mcxent, clip": Case(CrossEntropy(softmax_clip_eps=0.2), shares, ABOVE_0),
    "nll": Case("negativeloglikelihood", shares, ABOVE_0),
    "sparse": Case("sparse_mcxent", classes, ABOVE_0),
    "sparse, weights": Case(SparseCrossEntropy(weights=WEIGHTS), classes, ABOVE_0),
    "kl": Case("kl_divergence", shares, ABOVE_0),
    "kl, classes": Case("kl_divergence", bits, ABOVE_0),
    "xent": Case("xent", shares, PROBABILITIES),
    "xent, weights": Case(BinaryCrossEntropy(weights=WEIGHTS), bits, PROBABILITIES),
    "xent, clip": Case(BinaryCrossEntropy(clip_eps=0.3), shares, PROBABILITIES),
    "mse": Case("mse"),
    "mse, weights": Case(MeanSquaredError(weights=WEIGHTS)),
    "l2": Case("l2"),
    "l2, weights": Case(SquaredError(weights=WEIGHTS)),
    "l1": Case("l1"),
    "l1, weights": Case(AbsoluteError(weights=WEIGHTS)),
    "mae": Case("mae"),
    "mae, weights": Case(MeanAbsoluteError(weights=WEIGHTS)),
    "mape": Case("mape", positive),
    "mape, weights": Case(MeanAbsolutePercentageError(weights=WEIGHTS), positive),
    "msle": Case("msle", positive, (-0.9, 3)),
    "msle, weights": Case(
        MeanSquaredLogarithmicError(weights=WEIGHTS), positive, (-0.9, 3)
    ),
    "cosine": Case("cosine_proximity"),
    "hinge": Case("hinge", signs),
    "squared hinge": Case("squared_hinge", signs),
    "poisson": Case("poisson", positive, ABOVE_0),
    "wasserstein": Case("wasserstein", signs),
    "multilabel": Case("multilabel", bits),
    "fmeasure": Case(FMeasure(beta=0.5), shares, PROBABILITIES, n_out=2),
    "fmeasure, one output": Case("fmeasure", shares, PROBABILITIES, n_out=1),
    "mixture": Case(
        MixtureDensity(mixtures=2, label_width=3), outputs=(-2, 2), n_out=10
    ),
}
ROWS = np.array([1, 0.5, 2, 1, 0, 1])
SMOOTH = 1e-3


def candidates(case, activation):
    """Return numbers whose outputs the loss takes, away from kinks and steps."""
    x = np.linspace(-3.0031, 3.0017, 301)[None]
    if activation.name == "softmax":
        return x[0]
    low, high = case.outputs
    output = activation.forward(x)
    around = [activation.forward(x + side) for side in (-SMOOTH, SMOOTH)]
    slopes = [
        activation.backward(np.ones_like(x), x + side, y)
        for side, y in zip((-SMOOTH, SMOOTH), around, strict=True)
    ]
    is_smooth = np.abs(slopes[1] - slopes[0]) < 0.05
    is_smooth &= np.abs(around[1] - around[0]) < 0.1
    return x[is_smooth & (output > low) & (output < high)]


PAIRS = [
    (loss, name)
    for loss, case in CASES.items()
    for name, activation in ALL.items()
    if candidates(case, activation_function(activation)).size
]


def made(loss, name):
    """Return loss, activation, labels and pre-activations of six rows."""
    case, activation = CASES[loss], activation_function(ALL[name])
    rng = np.random.default_rng(zlib.crc32(f"{loss} {name}".encode()))
    function = loss_function(case.conf)
    preout = rng.choice(candidates(case, activation), (6, case.n_out))
    labels = case.labels(rng, (6, max(2, case.n_out)))
    masks = [None, ROWS]
    if function.masks_single_outputs and case.n_out > 1:
        masks.append(rng.choice([0, 0.5, 1, 2], preout.shape))
    columns = function.label_columns(case.n_out)
    return function, activation, labels[:, -columns:], preout, masks


@pytest.mark.parametrize(("loss", "name"), PAIRS)
def test_the_gradient_is_the_derivative_of_the_score(loss, name):
    function, activation, labels, preout, masks = made(loss, name)
    for mask in masks:

        def score(vector, mask=mask):
            rows = vector.reshape(preout.shape)
            return function.score(labels, rows, activation, mask)

        def both(vector, mask=mask):
            rows = vector.reshape(preout.shape)
            return 0, function.gradient(labels, rows, activation, mask).ravel()

        check_gradient(both, preout.ravel(), loss=score)


@pytest.mark.parametrize("loss", [loss for loss in CASES if "fmeasure" not in loss])
def test_the_score_is_the_sum_of_those_of_the_rows(loss):
    function, activation, labels, preout, masks = made(loss, "sigmoid")
    for mask in masks:
        rows = function.score_examples(labels, preout, activation, mask)
        total = function.score(labels, preout, activation, mask)
        assert total == pytest.approx(float(rows.sum()))


def test_every_loss_is_checked():
    checked = {loss_function(case.conf).name for case in CASES.values()}
    assert checked == {*LossLiteral.__args__, "mixture_density"}


def test_every_activation_is_checked():
    assert {name for _, name in PAIRS} == ALL.keys()
