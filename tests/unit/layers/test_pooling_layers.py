"""Layers that pool: options, sizes and masks."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    Recurrent,
)
from daskdl.nn.layers.layer import Layer
from tests.dialects import in_dl4j
from tests.unit.layers.drawn import mask_behind

IMAGES = Convolutional(height=6, width=5, channels=2)
ANY_IMAGES = Convolutional(channels=2)
SERIES = Recurrent(size=3)
VOLUMES = Convolutional3D(depth=4, height=3, width=5, channels=2)


def built(conf, input_type):
    return Layer(conf.filled({}, input_type, "me"), input_type, "me", Workspace())


def run(layer, x, mask=None):
    return layer.forward(x, training=True, mask=mask)


class TestSubsampling:
    def test_a_norm_needs_its_exponent(self):
        with pytest.raises(OptionError, match="pnorm: must be at least 1 for pooling"):
            dl.Subsampling(pooling_type="pnorm")

    def test_the_sum_is_the_average_times_the_cells(self, rng):
        """DL4J accepts SUM, and throws when the network runs."""
        x = rng.standard_normal((2, 6, 5, 2))
        options = {"kernel_size": 3, "padding": 1, "include_padding": True}
        average = built(dl.Subsampling(pooling_type="avg", **options), IMAGES)
        total = built(dl.Subsampling(pooling_type="sum", **options), IMAGES)
        np.testing.assert_allclose(run(total, x), 9 * run(average, x), atol=1e-14)

    def test_sizes_that_are_not_known_stay_so(self):
        assert dl.Subsampling().output_type(ANY_IMAGES) == ANY_IMAGES

    def test_images_may_have_another_size_each_time(self, rng):
        layer = built(dl.Subsampling(), ANY_IMAGES)
        shapes = [
            run(layer, rng.standard_normal((1, size, size + 3, 2))).shape
            for size in (4, 9, 4)
        ]
        assert shapes == [(1, 2, 3, 2), (1, 4, 6, 2), (1, 2, 3, 2)]

    def test_a_window_that_does_not_fit_is_refused_when_it_is_known(self):
        layer = built(dl.Subsampling(kernel_size=5), ANY_IMAGES)
        with pytest.raises(OptionError, match=r"must fit into the input of \(4, 9\)"):
            run(layer, np.zeros((1, 4, 9, 2)))

    def test_series_are_refused(self):
        with pytest.raises(OptionError, match=r"Subsampling needs images .*Recurrent"):
            dl.Subsampling().output_type(SERIES)

    def test_a_mask_of_pixels_keeps_windows_with_a_kept_pixel(self):
        layer = built(dl.Subsampling(), Convolutional(height=4, width=4, channels=1))
        mask = np.zeros((1, 4, 4, 1))
        mask[0, 1, 3] = mask[0, 2, 0] = 1
        found = mask_behind(layer, mask)
        np.testing.assert_array_equal(found[0, :, :, 0], [[0, 1], [1, 0]])

    def test_a_mask_of_rows_stays_one_of_rows(self):
        layer = built(dl.Subsampling(), Convolutional(height=4, width=4, channels=1))
        mask = np.array([1.0, 0, 0, 0]).reshape(1, 4, 1, 1)
        found = mask_behind(layer, mask)
        np.testing.assert_array_equal(found, [[[[1]], [[0]]]])

    def test_a_mask_stays_where_the_size_does(self):
        conf = dl.Subsampling(kernel_size=3, stride=1, convolution_mode="same")
        mask = np.zeros((1, 6, 5, 1))
        assert mask_behind(built(conf, IMAGES), mask) is mask

    def test_a_mask_of_examples_stays(self):
        mask = np.ones((3, 1))
        assert mask_behind(built(dl.Subsampling(), IMAGES), mask) is mask


class TestSubsampling1D:
    def test_one_number_is_enough(self):
        assert dl.Subsampling1D(kernel_size=3, stride=1).kernel_size == (3,)

    def test_known_series_become_shorter(self):
        found = dl.Subsampling1D(stride=2).output_type(Recurrent(size=3, time_steps=7))
        assert found == Recurrent(size=3, time_steps=3)

    PAIRS = dl.Subsampling1D(stride=2)

    def test_a_mask_only_passes_by_in_dl4j(self, rng):
        layer = built(in_dl4j(self.PAIRS), SERIES)
        x = rng.standard_normal((1, 6, 3))
        plain = run(layer, x).copy()
        plain_grad = layer.backward(np.ones((1, 3, 3))).copy()
        np.testing.assert_array_equal(run(layer, x, np.zeros((1, 6))), plain)
        np.testing.assert_array_equal(layer.backward(np.ones((1, 3, 3))), plain_grad)

    def test_masked_windows_are_zero_where_a_wrapper_asks_in_dl4j(self, rng):
        layer = built(in_dl4j(self.PAIRS), SERIES)
        layer.run.uses_mask = True
        x = rng.standard_normal((1, 6, 3))
        mask = np.array([[1.0, 1, 1, 0, 0, 0]])
        expected = [x[0, :2].max(axis=0), x[0, 2:4].max(axis=0), np.zeros(3)]
        np.testing.assert_array_equal(run(layer, x, mask)[0], expected)

    def test_the_mask_goes_on_with_the_windows_in_dl4j(self):
        """Also with one that only begins in the series."""
        mask = np.array([[1.0, 1, 1, 0, 0, 0]])
        exact = mask_behind(built(self.PAIRS, SERIES), mask)
        dl4j = mask_behind(built(in_dl4j(self.PAIRS), SERIES), mask)
        np.testing.assert_array_equal(exact, [[1, 0, 0]])
        np.testing.assert_array_equal(dl4j, [[1, 1, 0]])

    def test_a_window_in_the_padding_keeps_nothing_in_dl4j(self):
        conf, mask = dl.Subsampling1D(stride=2, padding=2), np.ones((1, 4))
        exact = mask_behind(built(conf, SERIES), mask)
        dl4j = mask_behind(built(in_dl4j(conf), SERIES), mask)
        np.testing.assert_array_equal(exact, [[1, 1, 1, 1]])
        np.testing.assert_array_equal(dl4j, [[0, 1, 1, 0]])

    @pytest.mark.parametrize(("kind", "expected"), [("max", -3.0), ("avg", -4.0)])
    def test_dropped_steps_are_not_in_the_window(self, kind, expected):
        conf = dl.Subsampling1D(kernel_size=3, pooling_type=kind)
        x, mask = np.array([-3.0, 9, -5]), np.array([[1.0, 0, 1]])
        output = run(built(conf, Recurrent(size=1)), x.reshape(1, 3, 1), mask)
        np.testing.assert_array_equal(output, [[[expected]]])

    def test_those_windows_have_no_gradient(self, rng):
        layer = built(in_dl4j(self.PAIRS), SERIES)
        layer.run.uses_mask = True
        run(layer, rng.standard_normal((1, 6, 3)), np.array([[1.0, 1, 1, 0, 0, 0]]))
        grad_x = layer.backward(np.ones((1, 3, 3)))
        np.testing.assert_array_equal(grad_x[0, 4:], 0)

    def test_a_mask_of_another_length_is_refused(self, rng):
        layer = built(self.PAIRS, SERIES)
        with pytest.raises(ShapeError, match=r"mask must have shape \(1, 6\), got"):
            run(layer, rng.standard_normal((1, 6, 3)), np.ones((1, 5)))

    def test_images_are_refused(self):
        with pytest.raises(OptionError, match=r"Subsampling1D needs time series"):
            dl.Subsampling1D().output_type(IMAGES)


class TestSubsampling3D:
    def test_all_three_sizes_shrink(self):
        conf = dl.Subsampling3D(
            kernel_size=2, stride=(1, 2, 1), convolution_mode="truncate"
        )
        assert conf.output_type(VOLUMES).shape == (3, 1, 4, 2)

    def test_it_has_two_kinds(self):
        with pytest.raises(OptionError, match="must be one of 'max', 'avg', got 'sum'"):
            dl.Subsampling3D(pooling_type="sum")

    def test_the_average_does_not_count_padding(self):
        layer = built(dl.Subsampling3D(pooling_type="avg", kernel_size=3), VOLUMES)
        output = run(layer, np.ones((1, 4, 3, 5, 2)))
        np.testing.assert_array_equal(output, 1)

    def test_images_are_refused(self):
        with pytest.raises(OptionError, match=r"Subsampling3D needs volumes"):
            dl.Subsampling3D().output_type(IMAGES)


class TestGlobalPooling:
    @pytest.mark.parametrize(
        ("input_type", "expected"),
        [
            (SERIES, Recurrent(size=3, time_steps=1)),
            (IMAGES, Convolutional(height=1, width=1, channels=2)),
            (VOLUMES, Convolutional3D(depth=1, height=1, width=1, channels=2)),
        ],
    )
    def test_dimensions_may_stay(self, input_type, expected):
        conf = dl.GlobalPooling(collapse_dimensions=False)
        assert conf.output_type(input_type) == expected

    def test_rows_are_refused(self):
        with pytest.raises(OptionError, match="needs time series, images or volumes"):
            dl.GlobalPooling().output_type(FeedForward(size=3))

    @pytest.mark.parametrize(
        ("dimensions", "input_type"),
        [
            ((2,), SERIES),
            ((1,), SERIES.replaced(data_format="NWC")),
            ((2, 3), IMAGES),
            ((2, 1), IMAGES.replaced(data_format="NHWC")),
            ((2, 3, 4), VOLUMES),
        ],
    )
    def test_all_dimensions_may_be_named(self, dimensions, input_type):
        conf = dl.GlobalPooling(pooling_dimensions=dimensions)
        assert conf.output_type(input_type).shape == (input_type.shape[-1],)

    def test_some_dimensions_alone_are_refused(self):
        """DL4J computes them, and fails in the layer behind."""
        conf = dl.GlobalPooling(pooling_dimensions=(3,))
        with pytest.raises(OptionError, match=r"must name all .*\(2, 3\) of NCHW"):
            conf.output_type(IMAGES)

    @pytest.mark.parametrize("kind", ["max", "avg", "sum", "pnorm"])
    def test_a_mask_of_pixels_counts(self, rng, kind):
        layer = built(dl.GlobalPooling(pooling_type=kind), IMAGES)
        x = rng.standard_normal((2, 6, 5, 2))
        mask = np.zeros((2, 6, 5, 1))
        mask[:, :4, 1:3] = 1
        part = x[:, :4, 1:3].copy()
        expected = run(built(dl.GlobalPooling(pooling_type=kind), ANY_IMAGES), part)
        np.testing.assert_allclose(run(layer, x, mask), expected, rtol=1e-13)

    def test_one_number_masks_a_whole_row(self, rng):
        layer = built(dl.GlobalPooling(pooling_type="sum"), IMAGES)
        x = rng.standard_normal((2, 6, 5, 2))
        mask = np.array([1.0, 0, 1, 0, 0, 0]).reshape(1, 6, 1, 1).repeat(2, axis=0)
        expected = x[:, [0, 2]].sum(axis=(1, 2))
        np.testing.assert_allclose(run(layer, x, mask), expected, atol=1e-14)

    def test_a_mask_of_examples_changes_nothing(self, rng):
        layer = built(dl.GlobalPooling(), IMAGES)
        x = rng.standard_normal((2, 6, 5, 2))
        expected = run(layer, x).copy()
        np.testing.assert_array_equal(run(layer, x, np.array([[1], [0.0]])), expected)

    def test_a_mask_of_other_images_is_refused(self, rng):
        layer = built(dl.GlobalPooling(), IMAGES)
        with pytest.raises(ShapeError, match=r"mask must have shape \(2, 6, 5, 1\)"):
            run(layer, rng.standard_normal((2, 6, 5, 2)), np.ones((2, 5, 6, 1)))

    def test_a_mask_of_pixels_is_used_up(self):
        layer = built(dl.GlobalPooling(), IMAGES)
        assert mask_behind(layer, np.ones((2, 6, 5, 1))) is None
