"""The threshold that is read off the updates, and messages rounded to the nearest."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    FixedThresholdAlgorithm,
    ThresholdState,
)
from daskdl.encoding.handler import EncodingHandler, decode_add
from daskdl.encoding.magnitude import magnitude
from daskdl.encoding.residual import NoOpResidualPostProcessor
from daskdl.errors import OptionError

N = 6400


def reading(**options):
    return EncodingHandler(
        N,
        algorithm=AdaptiveThresholdAlgorithm(max_target_sparsity=0.01),
        rounding="nearest",
        **options,
    )


def test_the_share_of_elements_reaches_the_magnitude(rng):
    update = rng.standard_normal(N).astype(np.float32)
    reached = np.abs(update) >= magnitude(update, 0.01)
    assert np.count_nonzero(reached) == N // 100 + 1


def test_elements_that_did_not_move_do_not_count(rng):
    """A minibatch touches few rows of an embedding."""
    update = np.zeros(N, np.float32)
    update[::100] = rng.standard_normal(64)
    assert magnitude(update, 0.5) == magnitude(update[::100], 0.5)


def test_nothing_that_moved_has_no_magnitude():
    assert math.isnan(magnitude(np.zeros(N, np.float32), 0.01))


def test_a_sample_says_about_the_same(rng):
    update = rng.standard_normal(100_000).astype(np.float32)
    assert magnitude(update, 0.03, sampled=True) == pytest.approx(
        magnitude(update, 0.03), rel=0.1
    )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_the_first_threshold_has_the_scale_of_the_first_update(rng, scale):
    handler = reading()
    update = (scale * rng.standard_normal(N)).astype(np.float32)
    handler.encode(update, 0, 0)
    # Half of it is sent once three updates of that size have gathered.
    assert handler.threshold == pytest.approx(6 * magnitude(update, 0.01))


def test_before_anything_moved_nothing_is_sent_nor_known(rng):
    handler = reading()
    assert handler.encode(np.zeros(N, np.float32), 0, 0) is None
    assert handler.reads_first_threshold
    update = rng.standard_normal(N).astype(np.float32)
    handler.encode(update, 1, 0)
    assert handler.threshold == pytest.approx(6 * magnitude(update, 0.01))


def test_a_given_threshold_is_not_read_off(rng):
    algorithm = AdaptiveThresholdAlgorithm(initial_threshold=1e-4)
    handler = EncodingHandler(N, algorithm=algorithm)
    handler.encode(rng.standard_normal(N).astype(np.float32), 0, 0)
    assert handler.threshold == 1e-4


def test_one_that_is_known_from_before_is_gone_on_with(rng):
    handler = reading()
    handler.start_from(ThresholdState(threshold=50.0))
    handler.encode(rng.standard_normal(N).astype(np.float32), 0, 0)
    assert handler.threshold == 50.0


def test_a_warm_up_of_the_learning_rate_is_followed(rng):
    """An element gives one quantum a message: what outgrows it would never be sent."""
    handler = reading()
    for iteration in range(12):
        update = (1e-6 * 2**iteration * rng.standard_normal(N)).astype(np.float32)
        handler.encode(update, iteration, 0)
    assert handler.threshold > 2 * magnitude(update, 0.01)


def test_one_minibatch_out_of_the_ordinary_at_most_doubles_it(rng):
    handler = reading()
    update = rng.standard_normal(N).astype(np.float32)
    handler.encode(update, 0, 0)
    first = handler.threshold
    handler.encode(1000 * update, 1, 0)
    assert handler.threshold <= 2.1 * first


def test_what_has_reached_half_of_it_is_sent_whole():
    handler = EncodingHandler(
        N, algorithm=FixedThresholdAlgorithm(threshold=1.0), rounding="nearest"
    )
    update = np.zeros(N, np.float32)
    update[:3] = 0.5, -0.75, 0.49
    received = np.zeros(N, np.float32)
    decode_add(handler.encode(update, 0, 0), received)
    np.testing.assert_array_equal(received[:3], [1.0, -1.0, 0.0])
    np.testing.assert_array_equal(handler.residual[:2], [-0.5, 0.25])


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 7, 31, 32, 100, 300]),
    st.sampled_from(["float32", "float64"]),
    st.floats(0.02, 3),
)
def test_nothing_is_lost_whichever_kind_of_message(seed, size, dtype, tau):
    rng = np.random.default_rng(seed)
    handler = EncodingHandler(
        size,
        algorithm=FixedThresholdAlgorithm(threshold=tau),
        post_processor=NoOpResidualPostProcessor(),
        rounding="nearest",
        dtype=dtype,
    )
    received, total = np.zeros(size), np.zeros(size)
    for iteration in range(25):
        update = rng.normal(0, 0.3, size).astype(dtype)
        total += update
        message = handler.encode(update, iteration, 0)
        if message is not None:
            decode_add(message, received)
    np.testing.assert_allclose(received + handler.residual, total, atol=1e-4)


def test_rounded_to_the_nearest_a_drift_is_followed_without_lag(rng):
    """Rounded down, the receiver is behind by half a threshold in the mean."""
    drift = rng.uniform(0.005, 0.015, N).astype(np.float32)
    behind = {}
    for rounding in ("nearest", "down"):
        handler = EncodingHandler(
            N,
            algorithm=FixedThresholdAlgorithm(threshold=1.0),
            post_processor=NoOpResidualPostProcessor(),
            rounding=rounding,
        )
        for iteration in range(200):
            handler.encode(drift, iteration, 0)
        behind[rounding] = float(handler.residual.mean())
    assert abs(behind["nearest"]) < 0.05
    assert behind["down"] > 0.4


def test_an_unknown_rounding_is_refused():
    with pytest.raises(OptionError, match="rounding must be one of"):
        EncodingHandler(N, rounding="up")
