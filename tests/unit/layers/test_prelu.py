"""PReLU: which numbers share a slope, in which format."""

import numpy as np
import pytest

from daskdl import PReLU
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.unit.layers.single import Single

IMAGES = Convolutional(height=4, width=5, channels=2)
LAST = IMAGES.replaced(data_format="NHWC")


def parameter(input_type, **options):
    (found,) = PReLU(**options).parameters(input_type)
    return found


def test_it_is_its_formula(rng):
    single = Single(PReLU(weight_init="normal"), FeedForward(size=3))
    x = rng.standard_normal((4, 3))
    slope = single.layer.run.params["W"]
    np.testing.assert_allclose(single.forward(x), np.where(x >= 0, x, slope * x))


def test_fresh_slopes_are_zero_whatever_the_network_says():
    single = Single(PReLU(), FeedForward(size=3), weight_init="ones")
    np.testing.assert_array_equal(single.layer.run.params["W"], 0)


@pytest.mark.parametrize(
    ("input_type", "options", "inside", "in_dl4j"),
    [
        (FeedForward(size=3), {}, (3,), (3,)),
        (IMAGES, {}, (4, 5, 2), (2, 4, 5)),
        (LAST, {}, (4, 5, 2), (4, 5, 2)),
        (IMAGES, {"shared_axes": (2, 3)}, (1, 1, 2), (2, 1, 1)),
        (LAST, {"shared_axes": (1, 2)}, (1, 1, 2), (1, 1, 2)),
        (Recurrent(size=3), {"shared_axes": 2}, (1, 3), (3, 1)),
        (Recurrent(size=3), {"input_shape": (3, 7)}, (7, 3), (3, 7)),
        # DL4J writes 1 for shared axes into the shape that it was given.
        (
            IMAGES,
            {"input_shape": (2, 1, 1), "shared_axes": (2, 3)},
            (1, 1, 2),
            (2, 1, 1),
        ),
    ],
)
class TestShapes:
    def test_slopes_have_the_shape_of_an_example(
        self, input_type, options, inside, in_dl4j
    ):
        assert parameter(input_type, **options).shape == inside

    def test_and_in_dl4j_that_of_its_format(self, input_type, options, inside, in_dl4j):
        assert parameter(input_type, **options).shape_in_file == in_dl4j


@pytest.mark.parametrize(
    ("input_type", "options", "message"),
    [
        (IMAGES, {"shared_axes": 4}, r"shared_axes: must be from 1 to 3 for images"),
        (IMAGES, {"input_shape": (2, 4, 4)}, r"input_shape: must be \(2, 4, 5\), what"),
        (IMAGES, {"input_shape": (2, 4)}, r"input_shape: must be \(2, 4, 5\), what"),
        (Recurrent(size=3), {}, "Share axes whose sizes are not known"),
    ],
)
def test_what_contradicts_the_input_is_refused(input_type, options, message):
    with pytest.raises(OptionError, match=message):
        PReLU(**options).output_type(input_type)
