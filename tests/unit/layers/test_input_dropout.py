"""What dropout and its relatives make of a layer's input."""

import numpy as np
import pytest

from daskdl import Dropout, ScheduleDefinition, schedule
from daskdl.arrays.random import IterationStream
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import Convolutional, FeedForward
from tests.unit.layers.single import Single

MANY = FeedForward(size=20_000)
IMAGES = Convolutional(height=3, width=4, channels=500)
ALPHA = -1.0507009873554804 * 1.6732632423543772


@schedule("nonsense_by_test")
class Nonsense(ScheduleDefinition):
    """A schedule of one's own: before training nobody knows what it is worth."""

    def value_at(self, iteration, epoch):
        return -2.0


def dropped(x, input_type=MANY, *, seed=1, **options):
    layer = Single(Dropout(dropout=options), input_type)
    return layer.forward(x, rng=np.random.default_rng(seed))


def ones(input_type=MANY):
    return np.ones((2, *input_type.shape))


def test_what_is_kept_is_divided_by_its_probability():
    found = dropped(ones(), type="dropout", keep_probability=0.6)
    assert set(np.unique(found)) == {0.0, 1 / 0.6}


def test_the_probability_is_that_of_keeping():
    found = dropped(ones(), type="dropout", keep_probability=0.7)
    np.testing.assert_allclose((found > 0).mean(), 0.7, atol=0.01)


def test_spatial_dropout_keeps_or_drops_whole_channels():
    found = dropped(ones(IMAGES), IMAGES, type="spatial_dropout", keep_probability=0.5)
    np.testing.assert_array_equal(found, np.broadcast_to(found[:, :1, :1], found.shape))


def test_spatial_dropout_keeps_its_share_of_channels():
    found = dropped(ones(IMAGES), IMAGES, type="spatial_dropout", keep_probability=0.7)
    np.testing.assert_allclose((found[:, 0, 0] > 0).mean(), 0.7, atol=0.05)


def test_alpha_dropout_keeps_mean_and_variance(rng):
    x = rng.standard_normal((2, 20_000))
    found = dropped(x, type="alpha_dropout", keep_probability=0.7)
    np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=0.02)


def test_alpha_dropout_is_its_formula(rng):
    x = rng.standard_normal((2, 20_000))
    found = dropped(x, type="alpha_dropout", keep_probability=0.7)
    kept = np.random.default_rng(1).random(x.shape, dtype=np.float32) < 0.7
    a = 1 / np.sqrt(0.7 + ALPHA**2 * 0.7 * 0.3)
    expected = a * (x * kept + ALPHA * ~kept) - a * 0.3 * ALPHA
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_gaussian_dropout_multiplies_by_numbers_around_one():
    found = dropped(3 * ones(), type="gaussian_dropout", rate=0.2)
    np.testing.assert_allclose(
        [found.mean(), found.std()], [3, 3 * np.sqrt(0.25)], rtol=0.02
    )


def test_gaussian_noise_adds_numbers_around_zero():
    found = dropped(3 * ones(), type="gaussian_noise", stddev=0.5)
    np.testing.assert_allclose([found.mean(), found.std()], [3, 0.5], rtol=0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"type": "dropout", "keep_probability": 0.5},
        {"type": "spatial_dropout", "keep_probability": 0.5},
        {"type": "alpha_dropout", "keep_probability": 0.5},
        {"type": "gaussian_dropout", "rate": 0.5},
        {"type": "gaussian_noise", "stddev": 0.5},
    ],
)
class TestEveryKind:
    def test_the_same_seed_gives_the_same(self, options):
        x = ones(IMAGES)
        first = dropped(x, IMAGES, **options).copy()
        np.testing.assert_array_equal(dropped(x, IMAGES, **options), first)

    def test_another_seed_gives_others(self, options):
        x = ones(IMAGES)
        first = dropped(x, IMAGES, **options).copy()
        assert (dropped(x, IMAGES, seed=2, **options) != first).any()

    def test_inference_changes_nothing(self, options):
        layer = Single(Dropout(dropout=options), IMAGES)
        x = ones(IMAGES)
        assert layer.forward(x, training=False) is x

    def test_training_needs_random_numbers(self, options):
        layer = Single(Dropout(dropout=options), IMAGES)
        with pytest.raises(OptionError, match="Dropout of 'me': training needs a rand"):
            layer.forward(ones(IMAGES))


@pytest.mark.parametrize(("iteration", "keep"), [(0, 0.9), (4, 0.9), (5, 0.5)])
def test_a_schedule_tells_the_probability_of_the_iteration(iteration, keep):
    schedule = {"type": "map", "values": {0: 0.9, 5: 0.5}}
    layer = Single(
        Dropout(dropout={"type": "dropout", "keep_probability": schedule}), MANY
    )
    rng = IterationStream(np.random.default_rng(1), iteration, 0)
    assert layer.forward(ones(), rng=rng).max() == 1 / keep


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"type": "dropout", "keep_probability": "?"},
            "keep_probability must be above 0",
        ),
        ({"type": "gaussian_dropout", "rate": "?"}, "rate must be from 0 to below 1"),
        ({"type": "gaussian_noise", "stddev": "?"}, "stddev must be at least 0"),
    ],
)
def test_a_schedule_that_gives_nonsense_is_refused(options, message):
    conf = {
        key: Nonsense() if value == "?" else value for key, value in options.items()
    }
    layer = Single(Dropout(dropout=conf), MANY)
    with pytest.raises(OptionError, match=f"Dropout of 'me': {message}.*got -2.0"):
        layer.forward(ones(), rng=np.random.default_rng(1))


def test_masked_rows_of_a_dropout_layer_come_out_as_zero():
    layer = Single(Dropout(keep_probability=0.5), FeedForward(size=2))
    mask = np.array([[1.0], [0.0]])
    output = layer.forward(np.ones((2, 2)), training=False, mask=mask)
    np.testing.assert_array_equal(output, [[1, 1], [0, 0]])


def test_and_send_no_gradient_back():
    layer = Single(Dropout(keep_probability=1), FeedForward(size=2))
    layer.forward(np.ones((2, 2)), training=False, mask=np.array([[1.0], [0.0]]))
    np.testing.assert_array_equal(layer.layer.backward(np.ones((2, 2)))[1], [0, 0])
