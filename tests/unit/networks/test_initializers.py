from typing import get_args

import numpy as np
import pytest

from daskdl.dialects import quirks_of
from daskdl.errors import OptionError
from daskdl.nn.conf.distributions import UniformDistribution
from daskdl.nn.conf.weight_inits import (
    ConstantInit,
    DistributionInit,
    IdentityInit,
    VarScalingNormalFanAvg,
    VarScalingNormalFanIn,
    VarScalingNormalFanOut,
    VarScalingUniformFanAvg,
    VarScalingUniformFanIn,
    VarScalingUniformFanOut,
    WeightInitLiteral,
)
from daskdl.nn.distributions import TRUNCATED
from daskdl.nn.initializers import initialize
from tests.dialects import DL4J

# Standard deviation for 100 inputs and 50 outputs.
DEVIATIONS = {
    "xavier": np.sqrt(2 / 150),
    "xavier_uniform": np.sqrt(6 / 150 / 3),
    "xavier_fan_in": np.sqrt(1 / 100),
    "xavier_legacy": np.sqrt(1 / 150),
    "relu": np.sqrt(2 / 100),
    "relu_uniform": np.sqrt(6 / 100 / 3),
    "lecun_normal": np.sqrt(1 / 100),
    "lecun_uniform": np.sqrt(1 / 100),
    "normal": np.sqrt(1 / 100),
    "uniform": 1 / np.sqrt(100) / np.sqrt(3),
    "sigmoid_uniform": 4 * np.sqrt(6 / 150 / 3),
    "var_scaling_normal_fan_in": np.sqrt(1 / 100),
    "var_scaling_normal_fan_out": np.sqrt(1 / 50),
    "var_scaling_normal_fan_avg": np.sqrt(2 / 150),
    "var_scaling_uniform_fan_in": np.sqrt(1 / 100),
    "var_scaling_uniform_fan_out": np.sqrt(1 / 50),
    "var_scaling_uniform_fan_avg": np.sqrt(2 / 150),
}
# With a scale of 4: it stands under the root of normal ones, and before uniform ones.
SCALED = [
    (VarScalingNormalFanIn(scale=4), 2 * DEVIATIONS["var_scaling_normal_fan_in"]),
    (VarScalingNormalFanOut(scale=4), 2 * DEVIATIONS["var_scaling_normal_fan_out"]),
    (VarScalingNormalFanAvg(scale=4), 2 * DEVIATIONS["var_scaling_normal_fan_avg"]),
    (VarScalingUniformFanIn(scale=4), 2 * DEVIATIONS["var_scaling_uniform_fan_in"]),
    (VarScalingUniformFanOut(scale=4), 2 * DEVIATIONS["var_scaling_uniform_fan_out"]),
    (VarScalingUniformFanAvg(scale=4), 2 * DEVIATIONS["var_scaling_uniform_fan_avg"]),
]


@pytest.mark.parametrize(("scheme", "deviation"), DEVIATIONS.items())
def test_the_spread_follows_the_fans(scheme, deviation, rng):
    weights = initialize(scheme, (100, 50), 100, 50, rng)
    # 5000 numbers: the error of their deviation is 1%.
    assert weights.std() == pytest.approx(deviation, rel=0.04)
    assert abs(weights.mean()) < 5 * deviation / np.sqrt(5000)


@pytest.mark.parametrize(
    ("scheme", "deviation"),
    [
        ("lecun_uniform", np.sqrt(3 / 100)),
        ("var_scaling_uniform_fan_out", np.sqrt(3 / 50)),
        (VarScalingUniformFanIn(scale=4), 4 * np.sqrt(3 / 100)),
        (VarScalingNormalFanIn(scale=4), 2 * TRUNCATED * np.sqrt(1 / 100)),
    ],
)
def test_bounds_are_scaled_in_dl4j(scheme, deviation, rng):
    weights = initialize(scheme, (100, 50), 100, 50, rng, quirks_of(DL4J))
    assert weights.std() == pytest.approx(deviation, rel=0.04)


def test_every_name_is_tried_here():
    assert {*DEVIATIONS, "zero", "ones", "identity"} == set(get_args(WeightInitLiteral))


@pytest.mark.parametrize(
    ("scheme", "deviation"), SCALED, ids=lambda value: getattr(value, "type", "")
)
def test_the_spread_follows_the_scale(scheme, deviation, rng):
    weights = initialize(scheme, (100, 50), 100, 50, rng)
    assert weights.std() == pytest.approx(deviation, rel=0.04)


def test_a_scale_left_open_is_one():
    named, given = (
        initialize(scheme, (4, 3), 4, 3, np.random.default_rng(5))
        for scheme in ("var_scaling_normal_fan_in", VarScalingNormalFanIn())
    )
    np.testing.assert_array_equal(named, given)


@pytest.mark.parametrize("scheme", sorted(DEVIATIONS))
def test_the_same_stream_gives_the_same_weights(scheme):
    first, second = (
        initialize(scheme, (4, 3), 4, 3, np.random.default_rng(5)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_weights_from_a_distribution_do_not_look_at_the_fans(rng):
    scheme = DistributionInit(distribution=UniformDistribution(lower=2, upper=3))
    weights = initialize(scheme, (100, 50), 100, 50, rng)
    assert (weights.min() >= 2) & (weights.max() <= 3)


def test_weights_of_any_constant(rng):
    assert set(initialize(ConstantInit(value=0.3), (3, 2), 3, 2, rng).ravel()) == {0.3}


@pytest.mark.parametrize(("scale", "factor"), [(None, 1), (2.0, 2)])
def test_identity_times_a_scale(scale, factor, rng):
    weights = initialize(IdentityInit(scale=scale), (3, 3), 3, 3, rng)
    np.testing.assert_array_equal(weights, factor * np.eye(3))


@pytest.mark.parametrize("scheme", [name for name in DEVIATIONS if "uniform" in name])
def test_uniform_weights_are_bounded(scheme, rng):
    weights = initialize(scheme, (100, 50), 100, 50, rng)
    assert np.abs(weights).max() <= DEVIATIONS[scheme] * np.sqrt(3)


@pytest.mark.parametrize(("scheme", "value"), [("zero", 0.0), ("ones", 1.0)])
def test_constant_weights(scheme, value, rng):
    assert set(initialize(scheme, (3, 2), 3, 2, rng).ravel()) == {value}


def test_identity_passes_rows_on(rng):
    np.testing.assert_array_equal(initialize("identity", (3, 3), 3, 3, rng), np.eye(3))


def test_identity_of_a_convolution_passes_its_middle_on(rng):
    kernel = initialize("identity", (3, 1, 2, 2), 6, 6, rng)
    np.testing.assert_array_equal(kernel[1, 0], np.eye(2))
    assert kernel.sum() == 2


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 4, 4)])
def test_identity_of_anything_else_is_refused(shape, rng):
    with pytest.raises(OptionError, match="'identity' must have as many outputs"):
        initialize("identity", shape, 1, 1, rng)
