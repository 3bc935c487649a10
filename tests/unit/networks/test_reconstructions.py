"""Reconstruction distributions: their scores are logarithms of densities."""

import math

import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.nn.conf.reconstructions import (
    BernoulliReconstructionDistribution,
    CompositeReconstructionDistribution,
    ExponentialReconstructionDistribution,
    GaussianReconstructionDistribution,
    LossFunctionWrapper,
)
from daskdl.nn.reconstructions import reconstruction
from tests.dialects import in_dl4j
from tests.gradients import check_gradient

COMPOSITE = CompositeReconstructionDistribution(
    sizes=(1, 2),
    distributions=(
        {"type": "gaussian", "activation": "tanh"},
        {
            "type": "composite",
            "sizes": (1, 1),
            "distributions": ("bernoulli", "exponential"),
        },
    ),
)
CASES = {
    "gaussian": GaussianReconstructionDistribution(),
    "gaussian, tanh": GaussianReconstructionDistribution(activation="tanh"),
    "bernoulli": BernoulliReconstructionDistribution(),
    "exponential": ExponentialReconstructionDistribution(),
    "bernoulli, hardsigmoid": BernoulliReconstructionDistribution(
        activation="hardsigmoid"
    ),
    "exponential, softsign": ExponentialReconstructionDistribution(
        activation="softsign"
    ),
    "loss": LossFunctionWrapper(loss="mse", activation="sigmoid"),
    "composite": COMPOSITE,
}


@pytest.fixture(params=CASES)
def case(request, rng):
    conf = CASES[request.param]
    x = rng.integers(0, 2, (4, 3)).astype(float)
    return reconstruction(conf), x, rng.standard_normal((4, conf.n_parameters(3)))


def test_gradients_are_central_differences(case):
    part, x, preout = case

    def loss_and_grad(vector):
        given = vector.reshape(preout.shape)
        return float(part.score_rows(x, given).sum()), part.gradient(x, given).ravel()

    check_gradient(loss_and_grad, preout.ravel())


def test_there_is_one_score_a_row(case):
    part, x, preout = case
    assert part.score_rows(x, preout).shape == (4,)


def test_float32_stays_float32(case):
    part, x, preout = case
    grad = part.gradient(x.astype("f4"), preout.astype("f4"))
    assert grad.dtype == np.float32


def test_the_decoders_output_is_not_changed(case):
    part, x, preout = case
    before = preout.copy()
    part.score_rows(x, preout)
    part.gradient(x, preout)
    np.testing.assert_array_equal(preout, before)


FORGIVING = in_dl4j(BernoulliReconstructionDistribution())


def scored(conf, x, preout):
    return float(reconstruction(conf).score_rows(np.array([x]), np.array([preout]))[0])


def test_gaussian_is_the_normal_density():
    found = scored(CASES["gaussian"], [1.5], [0.5, math.log(4)])
    density = math.exp(-(1.0**2) / 8) / math.sqrt(2 * math.pi * 4)
    assert found == pytest.approx(-math.log(density))


@pytest.mark.parametrize(("x", "probability"), [(1.0, 0.25), (0.0, 0.75)])
def test_bernoulli_is_the_probability_of_what_came(x, probability):
    found = scored(CASES["bernoulli"], [x], [math.log(1 / 3)])
    assert found == pytest.approx(-math.log(probability))


def test_exponential_is_its_density():
    found = scored(CASES["exponential"], [0.5], [math.log(3)])
    assert found == pytest.approx(-math.log(3 * math.exp(-1.5)))


def test_a_loss_is_itself():
    conf = LossFunctionWrapper(loss="mse", activation="identity")
    assert scored(conf, [1.0, 2.0], [0.0, 2.0]) == pytest.approx(0.5)


def test_a_composite_adds_up_its_parts():
    x, preout = [1.0, 1.0, 0.5], [0.2, 0.3, 0.4, 0.5]
    expected = (
        scored(CASES["gaussian, tanh"], x[:1], preout[:2])
        + scored(CASES["bernoulli"], x[1:2], preout[2:3])
        + scored(CASES["exponential"], x[2:], preout[3:])
    )
    assert scored(COMPOSITE, x, preout) == pytest.approx(expected)


@pytest.mark.parametrize(("conf", "cost"), [(CASES["bernoulli"], 800), (FORGIVING, 0)])
def test_a_certainty_that_fails_costs_nothing_in_dl4j(conf, cost):
    assert scored(conf, [0.0], [800.0]) == cost


@pytest.mark.parametrize(("conf", "slope"), [(CASES["bernoulli"], 1), (FORGIVING, 0)])
def test_and_has_no_gradient_there(conf, slope):
    grad = reconstruction(conf).gradient(np.array([[0.0]]), np.array([[800.0]]))
    np.testing.assert_array_equal(grad, slope)


def test_other_certainties_cost_the_same_in_dl4j(rng):
    x, preout = rng.random((4, 3)), rng.standard_normal((4, 3))
    exact, forgiving = map(reconstruction, (CASES["bernoulli"], FORGIVING))
    rows = exact.score_rows(x, preout), forgiving.score_rows(x, preout)
    np.testing.assert_allclose(*rows)
    np.testing.assert_allclose(*(p.gradient(x, preout) for p in (exact, forgiving)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CompositeReconstructionDistribution(
                sizes=(1, 2), distributions=("gaussian",)
            ),
            r"distributions: must be as many as sizes \(2\), got 1",
        ),
        (lambda: COMPOSITE.n_parameters(4), "sizes: must add up to 4, the numbers of"),
        (
            lambda: LossFunctionWrapper(loss="sparse_mcxent").n_parameters(3),
            "loss: must compare 3 numbers with as many",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()
