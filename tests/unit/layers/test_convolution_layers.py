"""Layers that convolve: options, sizes, masks and first weights."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import Convolutional, Convolutional3D, Recurrent
from tests.dialects import in_dl4j
from tests.unit.layers.drawn import built, mask_behind, run

IMAGES = Convolutional(height=6, width=5, channels=2)
ANY_IMAGES = Convolutional(channels=2)
SERIES = Recurrent(size=3, time_steps=6)
ANY_SERIES = Recurrent(size=3)
VOLUMES = Convolutional3D(depth=4, height=3, width=5, channels=2)


class TestConvolution2D:
    def test_series_are_refused(self):
        with pytest.raises(OptionError, match="Convolution2D needs images"):
            dl.Convolution2D(n_out=2).output_type(SERIES)

    def test_there_is_no_causal_mode_for_images(self):
        with pytest.raises(OptionError, match="convolution_mode: must be one of"):
            dl.Convolution2D(n_out=2, convolution_mode="causal")

    def test_a_mask_of_pixels_goes_on_as_that_of_windows(self):
        layer = built(dl.Convolution2D(n_out=1, kernel_size=3), IMAGES)
        mask = np.zeros((1, 6, 5))
        mask[0, 0, 0] = 1
        np.testing.assert_array_equal(
            np.argwhere(mask_behind(layer, mask)[0]), [[0, 0]]
        )

    def test_a_mask_of_examples_goes_on_as_it_is(self):
        layer = built(dl.Convolution2D(n_out=1, kernel_size=3), IMAGES)
        mask = np.ones((4, 1))
        assert mask_behind(layer, mask) is mask

    @pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
    def test_a_softmax_is_over_the_channels(self, rng, data_format):
        conf = dl.Convolution2D(n_out=3, kernel_size=2, activation="softmax")
        images = IMAGES.replaced(data_format=data_format)
        output = run(built(conf, images), rng.standard_normal((2, 6, 5, 2)))
        np.testing.assert_allclose(output.sum(axis=3), 1)

    @pytest.mark.parametrize(("data_format", "axis"), [("NCHW", 2), ("NHWC", 3)])
    def test_a_softmax_is_along_the_last_axis_in_dl4j(self, rng, data_format, axis):
        conf = dl.Convolution2D(n_out=3, kernel_size=2, activation="softmax")
        images = IMAGES.replaced(data_format=data_format)
        output = run(built(in_dl4j(conf), images), rng.standard_normal((2, 6, 5, 2)))
        np.testing.assert_allclose(output.sum(axis=axis), 1)

    def test_images_may_have_another_size_each_time(self, rng):
        layer = built(dl.Convolution2D(n_out=1, kernel_size=3), ANY_IMAGES)
        shapes = [
            run(layer, rng.standard_normal((1, size, size + 3, 2))).shape
            for size in (4, 9, 4)
        ]
        assert shapes == [(1, 2, 5, 1), (1, 7, 10, 1), (1, 2, 5, 1)]


class TestConvolution1D:
    def test_causal_outputs_do_not_see_later_steps(self, rng):
        conf = dl.Convolution1D(n_out=2, kernel_size=3, convolution_mode="causal")
        layer = built(conf, SERIES)
        x = rng.standard_normal((1, 6, 3))
        before = run(layer, x).copy()
        x[:, 4:] += 1
        np.testing.assert_array_equal(run(layer, x)[:, :4], before[:, :4])

    def test_a_causal_series_keeps_its_length(self):
        conf = dl.Convolution1D(
            n_out=2, kernel_size=3, dilation=4, convolution_mode="causal"
        )
        assert conf.output_type(SERIES) == SERIES.replaced(size=2)

    def test_series_of_any_length_stay_so(self):
        conf = dl.Convolution1D(n_out=2, kernel_size=3)
        assert conf.output_type(ANY_SERIES) == Recurrent(size=2)

    def test_a_kernel_size_must_be_given(self):
        with pytest.raises(OptionError, match="kernel_size: must be given"):
            dl.Convolution1D(n_out=2)

    def test_images_are_refused(self):
        with pytest.raises(OptionError, match="Convolution1D needs time series"):
            dl.Convolution1D(n_out=2, kernel_size=3).output_type(IMAGES)

    def test_dropped_steps_count_as_zeros(self, rng):
        layer = built(dl.Convolution1D(n_out=2, kernel_size=3), SERIES)
        x, mask = rng.standard_normal((1, 6, 3)), np.array([[1, 0, 1, 1, 0, 1.0]])
        expected = run(layer, x * mask[:, :, None]).copy()
        np.testing.assert_array_equal(run(layer, x, mask), expected)

    def test_a_mask_changes_nothing_by_itself_in_dl4j(self, rng):
        layer = built(in_dl4j(dl.Convolution1D(n_out=2, kernel_size=3)), SERIES)
        x, mask = rng.standard_normal((2, 6, 3)), np.zeros((2, 6))
        plain = run(layer, x).copy()
        np.testing.assert_array_equal(run(layer, x, mask), plain)

    PAIRS = dl.Convolution1D(n_out=2, kernel_size=2, stride=2)

    def test_in_a_wrapper_windows_without_a_kept_step_are_zero_in_dl4j(self, rng):
        layer = built(in_dl4j(self.PAIRS), SERIES)
        x = rng.standard_normal((1, 6, 3))
        plain = run(layer, x).copy()
        layer.run.uses_mask = True
        mask = np.array([[1, 0, 0, 0, 0, 1.0]])
        expected = plain * np.array([1, 0, 1.0])[:, None]
        np.testing.assert_array_equal(run(layer, x, mask), expected)

    def test_the_gradient_does_not_know_of_the_mask_in_dl4j(self, rng):
        layer = built(in_dl4j(self.PAIRS), SERIES)
        x, grad_out = rng.standard_normal((1, 6, 3)), np.ones((1, 3, 2))
        run(layer, x)
        plain = layer.backward(grad_out).copy()
        layer.run.uses_mask = True
        run(layer, x, np.zeros((1, 6)))
        np.testing.assert_array_equal(layer.backward(grad_out), plain)

    @pytest.mark.parametrize(
        ("options", "exact", "dl4j"),
        [
            ({"stride": 2}, [1, 0], [1, 1]),
            ({"stride": 2, "convolution_mode": "same"}, [0, 1, 0], [1, 1, 0]),
            # DL4J's windows of causal masks begin where those of the series end.
            ({"stride": 2, "convolution_mode": "causal"}, [0, 1, 0], [1, 1, 0]),
            ({"convolution_mode": "causal"}, [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]),
            ({"convolution_mode": "same"}, [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]),
        ],
    )
    def test_the_mask_of_the_windows_goes_on(self, options, exact, dl4j):
        conf = dl.Convolution1D(n_out=2, kernel_size=3, **options)
        mask = np.array([[0, 0, 1, 0, 0, 0.0]])
        found = [mask_behind(built(of, SERIES), mask) for of in (conf, in_dl4j(conf))]
        np.testing.assert_array_equal(found[0], [exact])
        np.testing.assert_array_equal(found[1], [dl4j])


class TestDeconvolution:
    def test_the_size_is_that_of_the_input_of_a_convolution(self):
        conf = dl.Deconvolution2D(n_out=3, kernel_size=3, stride=2, padding=1)
        assert conf.output_type(IMAGES) == Convolutional(height=11, width=9, channels=3)

    def test_same_multiplies_the_size(self):
        conf = dl.Deconvolution3D(n_out=3, stride=2, convolution_mode="same")
        expected = Convolutional3D(depth=8, height=6, width=10, channels=3)
        assert conf.output_type(VOLUMES) == expected

    def test_sizes_that_are_not_known_stay_so(self):
        conf = dl.Deconvolution2D(n_out=2)
        assert conf.output_type(ANY_IMAGES) == ANY_IMAGES

    def test_padding_that_leaves_nothing_is_refused(self):
        conf = dl.Deconvolution2D(n_out=3, kernel_size=2, padding=(0, 3))
        with pytest.raises(OptionError, match=r"padding: must leave .* of 6 cells"):
            conf.output_type(IMAGES)

    def test_a_mask_keeps_what_a_kept_pixel_is_sent_to(self):
        conf = dl.Deconvolution2D(n_out=1, kernel_size=2, stride=3)
        layer = built(conf, Convolutional(height=2, width=2, channels=1))
        mask = np.array([[[0, 1], [0, 0.0]]])
        kept = np.argwhere(mask_behind(layer, mask)[0])
        np.testing.assert_array_equal(kept, [[0, 3], [0, 4], [1, 3], [1, 4]])

    def test_a_mask_of_channels_keeps_them_apart(self):
        conf = dl.Deconvolution2D(n_out=1, kernel_size=2)
        layer = built(conf, Convolutional(height=2, width=2, channels=2))
        mask = np.zeros((1, 2, 2, 2))
        mask[..., 1] = 1
        sent = mask_behind(layer, mask)
        assert sent.shape == (1, 3, 3, 2)
        np.testing.assert_array_equal(sent[..., 0], 0)
        np.testing.assert_array_equal(sent[..., 1], 1)

    def test_a_mask_of_examples_goes_on_as_it_is(self):
        layer = built(dl.Deconvolution2D(n_out=1), IMAGES)
        mask = np.ones((4, 1))
        assert mask_behind(layer, mask) is mask

    def test_cells_without_a_window_get_the_bias(self, rng):
        """DL4J refuses strides of more than the kernel and one cell."""
        conf = dl.Deconvolution2D(
            n_out=2, kernel_size=1, stride=3, convolution_mode="same"
        )
        layer = built(conf, IMAGES, bias_init=0.5)
        output = run(layer, rng.standard_normal((1, 6, 5, 2)))
        np.testing.assert_array_equal(output[:, 2::3], 0.5)


class TestDepthwiseConvolution2D:
    def test_the_number_of_outputs_follows(self):
        conf = dl.DepthwiseConvolution2D(depth_multiplier=3)
        filled = conf.filled(NetworkConf().defaults(), IMAGES, "me")
        assert filled.n_out == 6

    def test_another_number_of_outputs_is_refused(self):
        conf = dl.DepthwiseConvolution2D(depth_multiplier=3, n_out=5)
        with pytest.raises(OptionError, match="n_out: must be 6, depth_multiplier 3"):
            conf.output_type(IMAGES)

    @pytest.mark.parametrize(
        "conf",
        [
            dl.DepthwiseConvolution2D(has_bias=False),
            dl.SeparableConvolution2D(n_out=3, has_bias=False),
        ],
    )
    def test_without_a_bias_there_is_nothing_to_confuse(self, conf):
        assert conf.table_order == ()

    def test_a_separable_one_with_a_matrix_of_ones_adds_its_channels(self, rng):
        depthwise = built(
            dl.DepthwiseConvolution2D(kernel_size=2, depth_multiplier=2), IMAGES
        )
        separable = built(
            dl.SeparableConvolution2D(n_out=1, kernel_size=2, depth_multiplier=2),
            IMAGES,
        )
        separable.run.params["W"][...] = depthwise.run.params["W"].transpose(3, 2, 0, 1)
        separable.run.params["pW"].fill(1)
        x = rng.standard_normal((2, 6, 5, 2))
        expected = run(depthwise, x).sum(axis=3, keepdims=True)
        np.testing.assert_allclose(run(separable, x), expected, atol=1e-13)


SAME = {"n_out": 3, "kernel_size": 2, "convolution_mode": "same"}


class TestLocallyConnected:
    @pytest.mark.parametrize("options", [{}, {"dilation": (2, 1)}, {"stride": (2, 3)}])
    def test_with_the_same_weights_everywhere_it_is_a_convolution(self, rng, options):
        options = {**SAME, **options}
        layer = built(dl.LocallyConnected2D(activation="identity", **options), IMAGES)
        convolution = built(dl.Convolution2D(**options), IMAGES)
        layer.run.params["W"][...] = convolution.run.params["W"].transpose(2, 0, 1, 3)
        x = rng.standard_normal((2, 6, 5, 2))
        np.testing.assert_allclose(run(layer, x), run(convolution, x), atol=1e-13)

    def test_windows_are_counted_row_by_row(self, rng):
        layer = built(dl.LocallyConnected2D(**SAME), IMAGES)
        layer.run.params["W"][:5] = 0
        output = run(layer, rng.standard_normal((1, 6, 5, 2)))
        np.testing.assert_array_equal(output.any(axis=(0, 2, 3)), [False] + [True] * 5)

    def test_rows_and_columns_of_a_square_output_are_swapped_in_dl4j(self, rng):
        """It counts windows by columns and their results by rows."""
        square = IMAGES.replaced(height=5)
        conf = dl.LocallyConnected2D(activation="identity", **SAME)
        layer = built(in_dl4j(conf), square)
        convolution = built(dl.Convolution2D(**SAME), square)
        layer.run.params["W"][...] = convolution.run.params["W"].transpose(2, 0, 1, 3)
        x = rng.standard_normal((2, 5, 5, 2))
        expected = run(convolution, x).transpose(0, 2, 1, 3)
        np.testing.assert_allclose(run(layer, x), expected, atol=1e-13)

    def test_a_dilation_makes_the_output_smaller_and_nothing_else_in_dl4j(self, rng):
        options = {"n_out": 2, "kernel_size": 2, "convolution_mode": "truncate"}
        dilated = built(in_dl4j(dl.LocallyConnected1D(dilation=3, **options)), SERIES)
        plain = built(dl.LocallyConnected1D(**options), SERIES)
        dilated.run.params["W"][...] = plain.run.params["W"][:3]
        x = rng.standard_normal((2, 6, 3))
        np.testing.assert_array_equal(run(dilated, x), run(plain, x)[:, :3])

    def test_a_leaky_rectifier_with_a_slope_leaks(self, rng):
        activation = {"type": "leakyrelu", "alpha": 0.5}
        layer = built(dl.LocallyConnected1D(n_out=2, activation=activation), SERIES)
        assert run(layer, rng.standard_normal((4, 6, 3))).min() < 0

    def test_the_size_of_the_input_may_be_given(self):
        conf = dl.LocallyConnected1D(n_out=2, input_size=6)
        assert conf.output_type(ANY_SERIES) == SERIES.replaced(size=2)

    def test_the_size_of_the_input_must_be_known(self):
        with pytest.raises(OptionError, match="input_size: must be given, because"):
            dl.LocallyConnected2D(n_out=2).output_type(ANY_IMAGES)

    def test_another_size_than_that_of_the_input_is_refused(self):
        conf = dl.LocallyConnected2D(n_out=2, input_size=(6, 6))
        with pytest.raises(OptionError, match=r"input_size: must be the size of what"):
            conf.output_type(IMAGES)

    def test_the_activation_of_the_network_does_not_count(self):
        assert dl.LocallyConnected1D(n_out=2).activation == "tanh"


# Standard deviation of each parameter of many, sqrt(2 / (fan in + fan out)).
FANS = {
    "convolution": (
        dl.Convolution2D(n_out=40, kernel_size=(3, 2), stride=2),
        Convolutional(channels=30),
        {"W": (30 * 6, 40 * 6 / 4)},
    ),
    "convolution1d": (
        dl.Convolution1D(n_out=40, kernel_size=3, stride=2),
        Recurrent(size=30),
        {"W": (30 * 3, 40 * 3 / 2)},
    ),
    "deconvolution": (
        dl.Deconvolution2D(n_out=40, kernel_size=3, stride=(1, 2)),
        Convolutional(channels=30),
        {"W": (30 * 9, 40 * 9 / 2)},
    ),
    "depthwise": (
        dl.DepthwiseConvolution2D(depth_multiplier=5, kernel_size=3, stride=2),
        Convolutional(channels=100),
        {"W": (100 * 9, 5 * 9 / 4)},
    ),
    "separable": (
        dl.SeparableConvolution2D(n_out=60, depth_multiplier=3, kernel_size=3),
        Convolutional(channels=50),
        {"W": (50 * 9, 3 * 9), "pW": (150, 150)},
    ),
    "locally connected": (
        dl.LocallyConnected2D(n_out=10, kernel_size=3, stride=2),
        Convolutional(height=10, width=10, channels=5),
        {"W": (5 * 9, 10 * 9 / 4)},
    ),
    "primary capsules": (
        dl.PrimaryCapsules(capsule_dimensions=4, channels=8, kernel_size=3),
        Convolutional(height=6, width=6, channels=16),
        {"weight": (16 * 9, 32 * 9 / 4)},
    ),
    "capsule": (
        dl.Capsule(capsules=10, capsule_dimensions=4),
        Recurrent(size=50, time_steps=6),
        {"weight": (300, 40)},
    ),
}


@pytest.mark.parametrize("name", FANS)
def test_first_weights_have_dl4js_fans(name):
    conf, input_type, fans = FANS[name]
    layer = built(conf, input_type, weight_init="xavier")
    for parameter, (fan_in, fan_out) in fans.items():
        weights = layer.run.params[parameter]
        deviation = np.sqrt(2 / (fan_in + fan_out))
        assert weights.std() == pytest.approx(deviation, rel=5 / np.sqrt(weights.size))
