"""The encoder's state machine, its golden traces, and what a receiver refuses."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    FixedThresholdAlgorithm,
    TargetSparsityThresholdAlgorithm,
    ThresholdState,
)
from daskdl.encoding.handler import EncodingHandler, decode_add, merge
from daskdl.encoding.residual import (
    NoOpResidualPostProcessor,
    ResidualClippingPostProcessor,
)
from daskdl.errors import OptionError, ShapeError, StaleMessageError
from daskdl.kernels.threshold import bitmap_encode, header_tau, threshold_encode

DATA = Path(__file__).parents[2] / "data" / "threshold"
NO_CLIPPING = NoOpResidualPostProcessor()
TRACES = {
    "adaptive": (
        AdaptiveThresholdAlgorithm(
            initial_threshold=1e-3,
            min_target_sparsity=1e-3,
            max_target_sparsity=1e-1,
            decay_rate=0.9,
        ),
        ResidualClippingPostProcessor(threshold_multiple=5.0, frequency=5),
    ),
    "adaptive_default_noclip": (
        AdaptiveThresholdAlgorithm(initial_threshold=1e-4, max_target_sparsity=1e-2),
        NO_CLIPPING,
    ),
    "target": (
        TargetSparsityThresholdAlgorithm(
            initial_threshold=1e-3, sparsity_target=2e-2, decay_rate=0.9
        ),
        ResidualClippingPostProcessor(threshold_multiple=2.0, frequency=3),
    ),
    "fixed": (FixedThresholdAlgorithm(threshold=1e-3), NO_CLIPPING),
    "fixed_boundary_none": (
        FixedThresholdAlgorithm(threshold=2e-3),
        ResidualClippingPostProcessor(threshold_multiple=3.0, frequency=7),
    ),
}


class UpstreamHandler:
    """An encoder that loses quanta as DL4J does when a message turns out too dense.

    Only the change to a bitmap is done here, by taking off what a threshold message
    would have held and sending nothing of it; all the rest is the handler's.
    """

    def __init__(self, size, algorithm, post_processor):
        self.handler = EncodingHandler(
            size, algorithm=algorithm, post_processor=post_processor
        )
        self.algorithm = algorithm
        self.post_processor = post_processor
        self.n_changes = 0

    def encode(self, update, iteration):
        before = self.handler.state_dict()
        message = self.handler.encode(update, iteration, iteration // 50)
        after = self.handler.state_dict()
        if before["is_bitmap_mode"] or not after["is_bitmap_mode"]:
            return message
        self.n_changes += 1
        residual, tau = before["residual"], after["last_threshold"]
        threshold_encode(residual, tau, update=update, boundary=update.size // 16)
        message, _ = bitmap_encode(residual, tau)
        self.post_processor.process(residual, iteration=iteration, tau=tau)
        self.handler.load_state_dict({**after, "residual": residual})
        return message


@pytest.mark.parametrize("name", TRACES)
def test_trace_is_that_of_dl4j_once_the_quanta_that_it_loses_are_lost(name):
    with np.load(DATA / "trace_gradients.npz") as file:
        gradients = file["g"]
    with np.load(DATA / f"trace_{name}.npz") as file:
        golden = dict(file)
    upstream = UpstreamHandler(gradients.shape[1], *TRACES[name])
    messages = np.split(golden["messages"], np.cumsum(golden["message_length"])[:-1])
    for iteration, (gradient, expected) in enumerate(
        zip(gradients, messages, strict=True)
    ):
        message = upstream.encode(gradient, iteration)
        found = [] if message is None else message.tolist()
        assert found == expected.tolist(), iteration
        if iteration % 10 == 9:
            np.testing.assert_array_equal(
                upstream.handler.residual, golden[f"residual{iteration}"]
            )
    assert upstream.n_changes > 0


@pytest.mark.parametrize("name", TRACES)
def test_messages_equal_those_of_dl4j_up_to_the_first_change_to_a_bitmap(name):
    """After it DL4J's residual lacks the quanta that ours keeps."""
    with np.load(DATA / "trace_gradients.npz") as file:
        gradients = file["g"]
    with np.load(DATA / f"trace_{name}.npz") as file:
        golden = dict(file)
    algorithm, post_processor = TRACES[name]
    handler = EncodingHandler(
        gradients.shape[1], algorithm=algorithm, post_processor=post_processor
    )
    messages = np.split(golden["messages"], np.cumsum(golden["message_length"])[:-1])
    for iteration, gradient in enumerate(gradients):
        was_sparse = not handler.state_dict()["is_bitmap_mode"]
        message = handler.encode(gradient, iteration, 0)
        if was_sparse and handler.state_dict()["is_bitmap_mode"]:
            break
        found = [] if message is None else message.tolist()
        assert found == messages[iteration].tolist(), iteration
    assert iteration > 5


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 7, 31, 32, 100, 300]),
    st.sampled_from(["float32", "float64"]),
    st.floats(0.02, 3),
)
def test_nothing_is_lost_over_many_messages(seed, size, dtype, tau):
    rng = np.random.default_rng(seed)
    handler = EncodingHandler(
        size,
        algorithm=FixedThresholdAlgorithm(threshold=tau),
        post_processor=NO_CLIPPING,
        dtype=dtype,
    )
    received = np.zeros(size, np.float64)
    total = np.zeros(size, np.float64)
    for iteration in range(12):
        scale = 2.0 if iteration % 4 == 3 else 0.2
        update = (scale * rng.standard_normal(size)).astype(dtype)
        total += update
        message = handler.encode(update, iteration, 0)
        if message is not None:
            decode_add(message, received)
    np.testing.assert_allclose(received + handler.residual, total, rtol=0, atol=1e-4)


def test_no_quantum_is_lost_when_a_message_turns_out_too_dense():
    handler = EncodingHandler(
        320,
        algorithm=FixedThresholdAlgorithm(threshold=1.0),
        post_processor=NO_CLIPPING,
    )
    handler.encode(np.zeros(320, np.float32), 0, 0)
    message = handler.encode(np.full(320, 3.0, np.float32), 1, 0)
    decoded = np.zeros(320, np.float32)
    decode_add(message, decoded)
    assert message[3] == 1
    assert decoded.tolist() == [1.0] * 320
    assert handler.residual.tolist() == [2.0] * 320


def test_a_vector_too_short_for_threshold_messages_keeps_sending_bitmaps():
    handler = EncodingHandler(20, algorithm=FixedThresholdAlgorithm(threshold=1.0))
    for iteration in range(3):
        message = handler.encode(np.zeros(20, np.float32), iteration, 0)
        assert message[3] == 1


@pytest.mark.parametrize("size", [1, 3, 26, 40, 200, 900])
@pytest.mark.parametrize("rounding", ["nearest", "down"])
def test_of_a_small_vector_what_is_trained_is_sent(rng, size, rounding):
    handler = EncodingHandler(size, rounding=rounding, post_processor=NO_CLIPPING)
    direction = rng.choice([-1, 1], size) * rng.uniform(0.5, 1, size)
    received, trained = np.zeros(size, np.float32), np.zeros(size)
    for iteration in range(2000):
        noise = rng.normal(size=size)
        update = (1e-3 * (direction + noise)).astype(np.float32)
        trained += update
        message = handler.encode(update, iteration, 0)
        if message is not None:
            decode_add(message, received)
    assert np.abs(received - trained).max() < 0.1 * np.abs(trained).max()


def test_the_first_message_is_a_bitmap_and_few_codes_end_bitmaps():
    handler = EncodingHandler(320, algorithm=FixedThresholdAlgorithm(threshold=1.0))
    first = handler.encode(np.zeros(320, np.float32), 0, 0)
    assert first[3] == 1
    update = np.zeros(320, np.float32)
    update[[4, 9]] = [1.5, -1.5]
    assert handler.encode(update, 1, 0)[4:].tolist() == [5, -10]


def test_fewer_than_two_elements_give_no_message():
    handler = EncodingHandler(320, algorithm=FixedThresholdAlgorithm(threshold=1.0))
    handler.encode(np.zeros(320, np.float32), 0, 0)
    update = np.zeros(320, np.float32)
    update[4] = 1.5
    assert handler.encode(update, 1, 0) is None
    assert handler.residual[4] == 1.5


def test_the_update_is_not_changed(rng):
    update = rng.standard_normal(64).astype(np.float32)
    before = update.copy()
    EncodingHandler(64).encode(update, 0, 0)
    np.testing.assert_array_equal(update, before)


def test_threshold_is_that_of_the_last_message():
    algorithm = AdaptiveThresholdAlgorithm(initial_threshold=1e-2)
    handler = EncodingHandler(64, algorithm=algorithm)
    assert handler.threshold == 1e-2
    for iteration in range(2):
        handler.encode(np.ones(64, np.float32), iteration, 0)
    assert handler.threshold == pytest.approx(1e-2 / algorithm.decay_rate)


def test_the_threshold_of_a_network_that_stands_still_stays_a_float32():
    algorithm = AdaptiveThresholdAlgorithm(initial_threshold=1e-30, decay_rate=0.5)
    handler = EncodingHandler(640, algorithm=algorithm)
    for iteration in range(100):
        message = handler.encode(np.zeros(640, np.float32), iteration, 0)
    assert message is None
    assert np.float32(handler.threshold) > 0


@pytest.mark.parametrize("rounding", ["nearest", "down"])
@pytest.mark.parametrize("tau", [1e-300, 1e-44, 1e39, 1e300])
def test_a_threshold_beyond_float32_is_sent_as_the_nearest_one(rounding, tau):
    """As 0 every element reaches it, as infinity none ever does."""
    handler = EncodingHandler(
        640, algorithm=FixedThresholdAlgorithm(threshold=tau), rounding=rounding
    )
    message = handler.encode(np.zeros(640, np.float32), 0, 0)
    sent = float(header_tau(message))
    assert np.finfo(np.float32).tiny <= sent <= np.finfo(np.float32).max
    assert np.isfinite(handler.residual).all()


def test_a_restored_handler_sends_the_same_messages(rng):
    updates = rng.standard_normal((40, 320)).astype(np.float32) * 1e-3
    algorithm = AdaptiveThresholdAlgorithm(initial_threshold=3e-3)
    handler = EncodingHandler(320, algorithm=algorithm)
    for iteration in range(20):
        handler.encode(updates[iteration], iteration, 0)
    restored = EncodingHandler(320, algorithm=algorithm)
    restored.load_state_dict(handler.state_dict())
    for iteration in range(20, 40):
        expected = handler.encode(updates[iteration], iteration, 0)
        found = restored.encode(updates[iteration], iteration, 0)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(restored.residual, handler.residual)


def test_a_fresh_handler_can_be_saved():
    state = EncodingHandler(8).state_dict()
    other = EncodingHandler(8)
    other.load_state_dict(state)
    assert math.isnan(other.threshold)


def test_state_of_the_algorithm_is_known_after_a_message():
    algorithm = AdaptiveThresholdAlgorithm(initial_threshold=1e-4)
    handler = EncodingHandler(64, algorithm=algorithm)
    handler.encode(np.zeros(64, np.float32), 0, 0)
    assert handler.state == ThresholdState(
        threshold=1e-4, sparsity=pytest.approx(float("nan"), nan_ok=True)
    )


@pytest.mark.parametrize("update", [np.zeros(63, np.float32), np.zeros(64)])
def test_an_update_of_another_shape_or_type_is_refused(update):
    with pytest.raises(ShapeError, match=r"must have shape \(64,\) and dtype float32"):
        EncodingHandler(64).encode(update, 0, 0)


@pytest.mark.parametrize(
    ("size", "dtype", "message"),
    [(0, "float32", "size must be > 0"), (8, "float16", "dtype must be one of")],
)
def test_impossible_handlers_are_refused(size, dtype, message):
    with pytest.raises(OptionError, match=message):
        EncodingHandler(size, dtype=dtype)


def test_a_vector_longer_than_an_int32_is_refused():
    with pytest.raises(ShapeError, match=r"size must be < 2\*\*31, got 2147483648"):
        EncodingHandler(2**31)


def test_merge_is_the_sum_of_messages(rng):
    algorithm = AdaptiveThresholdAlgorithm(initial_threshold=1e-4)
    handler = EncodingHandler(320, algorithm=algorithm)
    messages = [
        handler.encode(rng.standard_normal(320).astype(np.float32), iteration, 0)
        for iteration in range(3)
    ]
    expected = np.zeros(320, np.float32)
    for message in messages:
        decode_add(message, expected)
    update = merge(messages, 320)
    assert update.dtype == np.float32
    np.testing.assert_array_equal(update, expected)


def test_a_merged_update_can_be_decoded_and_merged_again():
    dense = np.arange(3, dtype=np.float32)
    target = np.ones(3)
    decode_add(merge([dense, dense], 3), target)
    assert target.tolist() == [1.0, 3.0, 5.0]


TAU = int(np.float32(0.5).view(np.int32))
INFINITE = int(np.float32(np.inf).view(np.int32))
NAN = int(np.float32(np.nan).view(np.int32))
MINUS = int(np.float32(-0.5).view(np.int32))


@pytest.mark.parametrize(
    ("ints", "text"),
    [
        ([2, 8, TAU], "must hold a header of 4 ints, got 3 ints"),
        ([2, 9, TAU, 0, 1, 2], "must hold an update of 8 parameters, got one of 9"),
        ([2, 8, INFINITE, 0, 1, 2], "must hold a finite threshold > 0, got inf"),
        ([2, 8, NAN, 0, 1, 2], "must hold a finite threshold > 0, got nan"),
        ([2, 8, MINUS, 0, 1, 2], "must hold a finite threshold > 0, got -0.5"),
        ([2, 8, TAU, 7, 1, 2], "must hold kind 0 or 1, got kind 7"),
        ([3, 8, TAU, 0, 1, 2], "must hold 3 entries, as its header says, got 2"),
        ([-1, 8, TAU, 0, 1], "must hold -1 entries"),
        ([2, 8, TAU, 0, 1, 9], "positions from 1 to 8, signed, got 9"),
        ([2, 8, TAU, 0, 1, -9], "positions from 1 to 8, signed, got -9"),
        ([2, 8, TAU, 0, 1, 0], "positions from 1 to 8, signed, got 0"),
        ([2, 8, TAU, 0, 1, -(2**31)], "signed, got -2147483648"),
        ([8, 8, TAU, 1, 0, 0], "must hold 5 ints, as its header says, got 6"),
    ],
)
def test_a_damaged_message_is_refused_and_changes_nothing(ints, text):
    target = np.ones(8, np.float32)
    with pytest.raises(StaleMessageError, match=text):
        decode_add(np.array(ints, np.int32), target)
    assert target.tolist() == [1.0] * 8


@pytest.mark.parametrize(
    "message", [np.zeros((2, 4), np.int32), np.zeros(8, np.int64), np.zeros(8, "U1")]
)
def test_an_array_of_another_kind_is_refused(message):
    with pytest.raises(ShapeError, match="message must be a 1-d int32 array, got"):
        decode_add(message, np.ones(8))


def test_an_empty_threshold_message_adds_nothing():
    target = np.ones(8)
    decode_add(np.array([0, 8, TAU, 0], np.int32), target)
    assert target.tolist() == [1.0] * 8


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (np.zeros(7, np.float32), r"an update of shape \(8,\), got \(7,\)"),
        (np.array([0, 1, 2, np.nan] * 2), "finite numbers, got .*nan.* at 3"),
    ],
)
def test_a_dense_update_that_does_not_fit_is_refused(update, text):
    target = np.ones(8)
    with pytest.raises(StaleMessageError, match=text):
        decode_add(update, target)
    assert target.tolist() == [1.0] * 8
