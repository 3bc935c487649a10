"""Layers that change sizes: options, masks and what does not fit."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import Convolutional, Convolutional3D, Recurrent
from daskdl.nn.layers.layer import Layer
from tests.dialects import in_dl4j
from tests.unit.layers.drawn import mask_behind

IMAGES = Convolutional(height=6, width=5, channels=2)
SERIES = Recurrent(size=3)
VOLUMES = Convolutional3D(depth=4, height=3, width=5, channels=2)


def built(conf, input_type):
    return Layer(conf.filled({}, input_type, "me"), input_type, "me", Workspace())


class TestOptions:
    @pytest.mark.parametrize(
        ("given", "padding"),
        [(1, (1, 1, 1, 1)), ((1, 2), (1, 1, 2, 2)), ((1, 2, 3, 4), (1, 2, 3, 4))],
    )
    def test_padding_of_images(self, given, padding):
        assert dl.ZeroPadding(padding=given).padding == padding

    @pytest.mark.parametrize(("given", "cropping"), [(1, (1, 1)), ((1, 2), (1, 2))])
    def test_cropping_of_series(self, given, cropping):
        assert dl.Cropping1D(cropping=given).cropping == cropping

    @pytest.mark.parametrize(
        ("given", "padding"), [(1, (1,) * 6), ((1, 0, 2), (1, 1, 0, 0, 2, 2))]
    )
    def test_padding_of_volumes(self, given, padding):
        assert dl.ZeroPadding3D(padding=given).padding == padding

    @pytest.mark.parametrize("padding", [-1, (1, 2, 3), 0.5, True, (0, 0, 0, -1)])
    def test_other_padding_is_refused(self, padding):
        with pytest.raises(OptionError, match=r"ZeroPadding\.padding"):
            dl.ZeroPadding(padding=padding)

    def test_upsampling_needs_whole_numbers(self):
        with pytest.raises(OptionError, match=r"size\[0\]: must be a whole number"):
            dl.Upsampling2D(size=(1.5, 2))


class TestSizes:
    @pytest.mark.parametrize(
        ("conf", "input_type", "shape"),
        [
            (dl.Upsampling1D(size=3), Recurrent(size=3, time_steps=4), (12, 3)),
            (dl.Upsampling1D(), SERIES, (None, 3)),
            (dl.Upsampling2D(size=(2, 3)), IMAGES, (12, 15, 2)),
            (dl.Upsampling3D(), VOLUMES, (8, 6, 10, 2)),
            (dl.ZeroPadding(padding=(1, 2, 0, 3)), IMAGES, (9, 8, 2)),
            (dl.ZeroPadding1D(padding=(1, 2)), SERIES, (None, 3)),
            (dl.ZeroPadding3D(padding=1), VOLUMES, (6, 5, 7, 2)),
            (dl.Cropping2D(cropping=(1, 0, 2, 1)), IMAGES, (5, 2, 2)),
            (dl.Cropping3D(cropping=(1, 1, 1)), VOLUMES, (2, 1, 3, 2)),
        ],
    )
    def test_each_axis_is_resized_by_itself(self, conf, input_type, shape):
        assert conf.output_type(input_type).shape == shape

    def test_nothing_left_is_refused(self):
        with pytest.raises(OptionError, match=r"must leave something of 5 cells, got"):
            dl.Cropping2D(cropping=(0, 0, 2, 3)).output_type(IMAGES)

    def test_nothing_left_of_a_series_is_refused_when_it_comes(self):
        layer = built(dl.Cropping1D(cropping=(2, 1)), SERIES)
        with pytest.raises(OptionError, match="must leave something of 3 cells"):
            layer.forward(np.zeros((1, 3, 3)), training=False)

    @pytest.mark.parametrize(
        ("conf", "needs"),
        [
            (dl.Upsampling1D(), "time series"),
            (dl.ZeroPadding(padding=1), "images"),
            (dl.Cropping3D(cropping=1), "volumes"),
        ],
    )
    def test_another_kind_of_input_is_refused(self, conf, needs):
        other = VOLUMES if needs != "volumes" else IMAGES
        with pytest.raises(OptionError, match=f"needs {needs}"):
            conf.output_type(other)


class TestMasks:
    """DL4J itself hands masks on as they are: their length fits nothing behind."""

    MASK = np.array([[1.0, 1, 0], [1, 0, 0]])

    @pytest.mark.parametrize(
        ("conf", "expected"),
        [
            (dl.Upsampling1D(), [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]]),
            (dl.Cropping1D(cropping=(1, 0)), [[1, 0], [0, 0]]),
            (dl.Cropping1D(cropping=(0, 1)), [[1, 0], [0, 0]]),
            (
                dl.ZeroPadding1D(padding=(1, 2)),
                [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0]],
            ),
            (in_dl4j(dl.Cropping1D(cropping=(0, 1))), [[1, 1], [1, 0]]),
            (
                in_dl4j(dl.ZeroPadding1D(padding=(1, 2))),
                [[1, 1, 1, 0, 1, 1], [1, 1, 0, 0, 1, 1]],
            ),
        ],
    )
    def test_masks_of_series_are_resized(self, conf, expected):
        layer = built(conf, SERIES)
        layer.forward(np.zeros((2, 3, 3)), training=False)
        np.testing.assert_array_equal(mask_behind(layer, self.MASK), expected)

    def test_no_mask_stays_none(self):
        layer = built(dl.Upsampling1D(), SERIES)
        assert mask_behind(layer, None) is None

    def test_masks_of_examples_pass_by_images(self):
        mask = np.ones((2, 1))
        assert mask_behind(built(dl.Upsampling2D(), IMAGES), mask) is mask

    @pytest.mark.parametrize("kind", ["max", "avg", "sum", "pnorm"])
    def test_padded_series_pool_the_same_with_masked_steps_behind(self, rng, kind):
        network = dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=SERIES,
                layers=[
                    dl.ZeroPadding1D(padding=(1, 2)),
                    dl.GlobalPooling(pooling_type=kind),
                    dl.Output(n_out=2),
                ],
                dtype="float64",
            )
        )
        x = rng.standard_normal((1, 3, 4))
        longer = np.concatenate([x, rng.standard_normal((1, 3, 2))], axis=2)
        mask = np.array([[1.0, 1, 1, 1, 0, 0]])
        found = network.output(longer, features_mask=mask)
        np.testing.assert_allclose(found, network.output(x), rtol=1e-12)


class TestBlocks:
    def test_blocks_that_do_not_divide_are_refused(self):
        with pytest.raises(OptionError, match=r"block_size: must divide .*got 2 for 5"):
            dl.SpaceToDepth(block_size=2).output_type(IMAGES)

    def test_blocks_that_do_not_divide_are_refused_when_they_come(self):
        layer = built(dl.SpaceToDepth(block_size=2), Convolutional(channels=2))
        with pytest.raises(OptionError, match="must divide height and width"):
            layer.forward(np.zeros((1, 4, 5, 2)), training=False)

    def test_depth_of_images_of_any_size(self):
        found = dl.SpaceToDepth(block_size=2).output_type(Convolutional(channels=2))
        assert found == Convolutional(channels=8)

    def test_images_of_padded_blocks(self):
        conf = dl.SpaceToBatch(blocks=(2, 3), padding=((1, 1), (0, 1)))
        assert conf.output_type(IMAGES).shape == (4, 2, 2)

    def test_images_of_blocks_that_do_not_divide_are_refused(self):
        conf = dl.SpaceToBatch(blocks=2)
        with pytest.raises(OptionError, match=r"blocks: must divide .*\(2, 2\) for 5"):
            conf.output_type(IMAGES)

    def test_a_mask_of_examples_is_repeated_for_their_images(self):
        layer = built(dl.SpaceToBatch(blocks=(1, 2)), IMAGES.replaced(width=4))
        mask = np.array([[1.0], [0.0]])
        np.testing.assert_array_equal(mask_behind(layer, mask), [[1], [0], [1], [0]])

    def test_no_mask_stays_none(self):
        layer = built(dl.SpaceToBatch(blocks=(1, 2)), IMAGES.replaced(width=4))
        assert mask_behind(layer, None) is None


class TestLocalResponseNormalization:
    def test_an_even_number_of_channels_means_the_next_odd_one(self, rng):
        x = rng.standard_normal((2, 6, 5, 2))
        outputs = [
            built(dl.LocalResponseNormalization(n=n, alpha=0.5), IMAGES).forward(
                x, training=False
            )
            for n in (2, 3)
        ]
        np.testing.assert_array_equal(*outputs)

    def test_the_gradient_alone_is_another_one_in_dl4j(self, rng):
        images = IMAGES.replaced(channels=7)
        conf = dl.LocalResponseNormalization(alpha=0.5)
        exact, dl4j = built(conf, images), built(in_dl4j(conf), images)
        x = rng.standard_normal((1, 6, 5, 7))
        outputs = [layer.forward(x, training=True) for layer in (exact, dl4j)]
        np.testing.assert_array_equal(*outputs)
        gradients = [layer.backward(np.ones_like(x)) for layer in (exact, dl4j)]
        assert abs(gradients[0] - gradients[1]).max() > 0.01

    def test_series_are_refused(self):
        with pytest.raises(OptionError, match="Normalization needs images"):
            dl.LocalResponseNormalization().output_type(SERIES)
