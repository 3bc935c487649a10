"""What the debug mode of encoding tells of a residual, held against hand's figures."""

import numpy as np
import pytest

from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.handler import EncodingHandler
from daskdl.encoding.residual_statistics import residual_statistics

DTYPES = ["float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_number_of_a_thousand_elements(rng, dtype):
    """Magnitudes 1 to 1000, signs and order at random: place ``p / 100 * 1001``."""
    residual = rng.permutation(np.arange(1.0, 1001)) * rng.choice([-1, 1], 1000)
    told = residual_statistics(residual.astype(dtype), 901.0)
    assert (told.length, told.threshold) == (1000, 901.0)
    assert (told.reached, told.sparsity) == (100, 0.1)
    assert (told.mean, told.largest) == (500.5, 1000.0)
    assert told.percentiles == pytest.approx(
        {"50": 500.5, "95": 950.95, "99": 990.99, "99.9": 999.999, "99.99": 1000.0}
    )


def test_an_element_that_equals_the_threshold_reaches_it():
    assert residual_statistics(np.array([0.1, 0.3, -0.3], np.float32), 0.3).reached == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_vector_too_short_for_a_percentile_gives_its_ends(dtype):
    told = residual_statistics(np.array([-2.0], dtype), 1.0)
    assert set(told.percentiles.values()) == {2.0}


def test_the_residual_stays_as_it_was(rng):
    residual = rng.standard_normal(50)
    before = residual.copy()
    residual_statistics(residual, 1.0)
    np.testing.assert_array_equal(residual, before)


def test_the_line_is_dl4js():
    told = residual_statistics(np.array([0.0, 0.002, -0.5, 150.0]), 0.004)
    assert str(told) == (
        "residual vector: length: 4, threshold: 4e-3, count > thr: 2, sparsity: 0.5, "
        "amean: 37.626 (9.406e3x); amax: 1.5e2 (3.75e4x); 50%: 0.251 (62.75x); "
        "95%: 1.5e2 (3.75e4x); 99%: 1.5e2 (3.75e4x); 99.9%: 1.5e2 (3.75e4x); "
        "99.99%: 1.5e2 (3.75e4x)"
    )


@pytest.mark.parametrize(
    ("residual", "told"),
    [(0.0, "amax: 0.0 (0.0x)"), (1.0, "amax: 1 (1x)"), (99999.0, "amax: 1e5 (1e5x)")],
)
def test_numbers_have_no_zeros_at_the_end(residual, told):
    assert told in str(residual_statistics(np.array([residual]), 1.0))


def seen_by(encode):
    seen = []
    handler = EncodingHandler(
        64,
        algorithm=FixedThresholdAlgorithm(threshold=0.5),
        observe=lambda residual, threshold: seen.append((residual.copy(), threshold)),
    )
    encode(handler)
    return seen


def test_the_residual_is_seen_with_the_update_and_before_it_is_encoded():
    """Two updates of 0.4: the first one is a bitmap of nothing, the second reaches."""
    update = np.full(64, 0.4, np.float32)

    def encode(handler):
        handler.encode(update, 0, 0)
        handler.residual.fill(0.4)
        handler.encode(update, 1, 0)

    seen = seen_by(encode)
    assert [threshold for _, threshold in seen] == [0.5, 0.5]
    np.testing.assert_allclose(seen[0][0], 0.4)
    np.testing.assert_allclose(seen[1][0], 0.8)


def test_a_difference_is_seen_before_it_is_encoded():
    base, params = np.ones(64, np.float32), np.full(64, 0.25, np.float32)
    seen = seen_by(lambda handler: handler.encode_difference(base, params))
    np.testing.assert_array_equal(seen[0][0], 0.75)
