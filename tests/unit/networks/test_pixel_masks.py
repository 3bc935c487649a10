"""Masks of the pixels of images, from the batch to the pooling that uses them up."""

import numpy as np
import pytest

import daskdl as dl
from daskdl import DataSet
from daskdl.dialects import EXACT
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import Convolutional
from tests.dialects import DL4J


def network(data_format="NCHW", **options):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=Convolutional(channels=2, data_format=data_format),
            layers=[
                dl.Convolution2D(n_out=3, kernel_size=2, activation="tanh", **options),
                dl.Subsampling(kernel_size=1, stride=1),
                dl.GlobalPooling(pooling_type="avg"),
                dl.Output(n_out=2),
            ],
            dtype="float64",
        )
    )


def test_masked_pixels_of_features_count_for_nothing(rng):
    """What no window with a kept pixel sees can be anything."""
    images = rng.standard_normal((2, 2, 6, 5))
    mask = np.zeros((2, 1, 6, 5))
    mask[:, :, :3, :2] = 1
    net = network()
    expected = net.output(images, features_mask=mask)
    images[:, :, 4:] = 99
    images[:, :, :, 3:] = 99
    np.testing.assert_array_equal(net.output(images, features_mask=mask), expected)


def test_the_data_format_is_that_of_the_images(rng):
    images = rng.standard_normal((2, 2, 6, 5))
    mask = rng.integers(0, 2, (2, 1, 6, 5))
    first, last = network(), network("NHWC")
    last.params[...] = first.params
    found = last.output(
        images.transpose(0, 2, 3, 1), features_mask=mask.transpose(0, 2, 3, 1)
    )
    np.testing.assert_array_equal(found, first.output(images, features_mask=mask))


def test_one_number_masks_whole_rows(rng):
    images = rng.standard_normal((2, 2, 6, 5))
    rows = np.array([1.0, 1, 1, 0, 0, 0]).reshape(1, 1, 6, 1).repeat(2, axis=0)
    net = network()
    found = net.output(images, features_mask=rows)
    pixels = np.broadcast_to(rows, (2, 1, 6, 5))
    np.testing.assert_array_equal(found, net.output(images, features_mask=pixels))


def test_they_train(rng):
    images = rng.standard_normal((4, 2, 6, 5))
    labels = np.eye(2)[[0, 1, 0, 1]]
    mask = rng.integers(0, 2, (4, 1, 6, 5)).astype(float)
    mask[:, :, 0] = 1
    batch = DataSet(images, labels, mask)
    net = network()
    before = net.compute_score(batch)
    for _ in range(20):
        net.fit_minibatch(batch)
    assert net.compute_score(batch) < before


@pytest.mark.parametrize("shape", [(2, 2, 6, 5), (2, 1, 5, 6), (1, 1, 6, 5)])
def test_masks_of_other_images_are_refused(rng, shape):
    with pytest.raises(
        ShapeError, match=r"features_mask must have shape \(2, 1, 6, 5\), or 1 for"
    ):
        network().output(np.zeros((2, 2, 6, 5)), features_mask=np.ones(shape))


def pixel_losses(dialect):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=Convolutional(height=2, width=3, channels=2),
            layers=[dl.CnnLoss()],
            dtype="float64",
            dialect=dialect,
        )
    )


@pytest.mark.parametrize("shape", [(2, 1, 2, 3), (2, 2, 2, 3), (2, 1)])
def test_a_mask_of_the_labels_drops_pixels_of_the_output(rng, shape):
    images = rng.standard_normal((2, 2, 2, 3))
    mask = (rng.random(shape) < 0.5).astype(float)
    net = pixel_losses(EXACT)
    kept = mask.reshape(*shape, *(1,) * (4 - len(shape)))
    found = net.output(images, labels_mask=mask)
    np.testing.assert_array_equal(found, net.output(images) * kept)


def test_a_mask_of_the_labels_leaves_the_output_alone_in_dl4j(rng):
    images = rng.standard_normal((2, 2, 2, 3))
    net = pixel_losses(DL4J)
    found = net.output(images, labels_mask=np.zeros((2, 1, 2, 3)))
    np.testing.assert_array_equal(found, net.output(images))
