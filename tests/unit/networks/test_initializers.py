import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.nn.initializers import initialize

# Standard deviation for 100 inputs and 50 outputs, by the table of DL4J's WeightInit*.
DEVIATIONS = {
    "xavier": np.sqrt(2 / 150),
    "xavier_uniform": np.sqrt(6 / 150 / 3),
    "xavier_fan_in": np.sqrt(1 / 100),
    "xavier_legacy": np.sqrt(1 / 150),
    "relu": np.sqrt(2 / 100),
    "relu_uniform": np.sqrt(6 / 100 / 3),
    "lecun_normal": np.sqrt(1 / 100),
    "lecun_uniform": 3 / np.sqrt(100) / np.sqrt(3),
    "normal": np.sqrt(1 / 100),
    "uniform": 1 / np.sqrt(100) / np.sqrt(3),
    "sigmoid_uniform": 4 * np.sqrt(6 / 150 / 3),
}


@pytest.mark.parametrize(("scheme", "deviation"), DEVIATIONS.items())
def test_the_spread_follows_the_fans(scheme, deviation, rng):
    weights = initialize(scheme, (100, 50), 100, 50, rng)
    # 5000 numbers: the error of their deviation is 1%.
    assert weights.std() == pytest.approx(deviation, rel=0.04)
    assert abs(weights.mean()) < 5 * deviation / np.sqrt(5000)


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
