"""Normalizers of pixels, against the real DL4J 1.0.0-M2.1."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.image import (
    ImagePreProcessingScaler,
    VGG16ImagePreProcessor,
)
from daskdl.errors import FormatError, OptionError, ShapeError
from tests.unit.dl4j.golden import expected_normalized


def golden(values):
    return DataSet(values["in.features"], values["in.labels"])


@pytest.mark.parametrize(
    ("name", "normalizer"),
    [
        ("image_m1_1", ImagePreProcessingScaler(-1, 1)),
        ("vgg16", VGG16ImagePreProcessor()),
    ],
)
def test_pixels_are_dl4js_to_the_last_bit(name, normalizer):
    values = expected_normalized(name)
    changed = normalizer.transform(golden(values))
    np.testing.assert_array_equal(changed.features, values["out.features"], strict=True)
    np.testing.assert_array_equal(changed.labels, values["out.labels"])


def test_pixels_are_reverted_although_labels_are_no_images():
    """DL4J's ImagePreProcessingScaler fails here."""
    data = golden(expected_normalized("image_m1_1"))
    scaler = ImagePreProcessingScaler(-1, 1)
    reverted = scaler.revert(scaler.transform(data))
    np.testing.assert_allclose(reverted.features, data.features, rtol=1e-6, atol=2e-5)
    assert reverted.labels is data.labels


def test_labels_that_were_not_scaled_are_not_reverted():
    """DL4J's ImagePreProcessingScaler multiplies them by 255."""
    data = DataSet(np.ones((1, 1, 2, 2)), np.ones((1, 1, 2, 2)))
    assert ImagePreProcessingScaler().revert(data).labels is data.labels


def test_the_vgg_means_are_reverted():
    values = expected_normalized("vgg16")
    normalizer = VGG16ImagePreProcessor()
    reverted = normalizer.revert(normalizer.transform(golden(values)))
    np.testing.assert_array_equal(reverted.features, values["reverted.features"])


def test_labels_are_scaled_on_request():
    data = DataSet(np.full((1, 1, 2, 2), 255.0), np.full((1, 1, 2, 2), 51.0))
    scaled = ImagePreProcessingScaler(fit_label=True).transform(data)
    np.testing.assert_array_equal(scaled.labels, np.full((1, 1, 2, 2), 51 / 255))


def test_bytes_become_float32():
    """DL4J divides them as bytes: all become 0."""
    data = DataSet(np.full((1, 1, 2, 2), 51, np.uint8))
    scaled = ImagePreProcessingScaler().transform(data).features
    np.testing.assert_array_equal(scaled, np.full((1, 1, 2, 2), np.float32(0.2)))
    assert scaled.dtype == np.float32


def test_every_input_is_scaled():
    data = MultiDataSet([np.full((1, 1), 255.0), np.full((1, 2), 51.0)])
    scaled = ImagePreProcessingScaler().transform(data)
    np.testing.assert_array_equal(scaled.features[1], [[0.2, 0.2]])


def test_the_brightest_pixel_may_be_given():
    assert ImagePreProcessingScaler(max_bits=1).max_pixel_value == 1
    assert ImagePreProcessingScaler(max_pixel_value=100.0).max_pixel_value == 100


def test_channels_last_images_are_taken(rng):
    images = rng.uniform(0, 255, size=(2, 4, 5, 3))
    last = VGG16ImagePreProcessor(feature_axis=-1).transform(DataSet(images))
    np.testing.assert_array_equal(last.features, images - [103.939, 116.779, 123.68])


def test_there_is_nothing_to_learn():
    scaler = ImagePreProcessingScaler()
    assert scaler.is_fitted
    assert scaler.fit([]) is scaler
    assert scaler.fit_statistics(()) is scaler


@pytest.mark.parametrize(
    ("normalizer", "shape"),
    [(VGG16ImagePreProcessor(), (2, 4, 5, 3)), (VGG16ImagePreProcessor(), (2, 3))],
)
def test_other_channels_are_refused(normalizer, shape):
    with pytest.raises(ShapeError, match="must be images with 3 channels along axis 1"):
        normalizer.transform(DataSet(np.zeros(shape)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ImagePreProcessingScaler(1, 1), "must differ, got 1 twice"),
        (
            lambda: ImagePreProcessingScaler(max_bits=0),
            "max_bits must be a whole",
        ),
        (
            lambda: ImagePreProcessingScaler(max_pixel_value=0.0),
            "max_pixel_value must be > 0, got 0.0",
        ),
        (lambda: VGG16ImagePreProcessor(feature_axis=3), "feature_axis must be one of"),
        (lambda: VGG16ImagePreProcessor().fit_label(), "fit_label must be False"),
    ],
)
def test_options_that_make_no_sense_are_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_labels_of_vgg_stay_as_they_are():
    assert not VGG16ImagePreProcessor().fit_label(False).is_fit_label


@pytest.mark.parametrize(
    "normalizer",
    [
        ImagePreProcessingScaler(-1, 1, 16, fit_label=True),
        VGG16ImagePreProcessor(feature_axis=-1),
    ],
)
def test_dict_and_back_is_identity(normalizer):
    again = type(normalizer).from_dict(normalizer.to_dict())
    assert again.to_dict() == normalizer.to_dict()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"type": "image_vgg16"}, "must have type 'image_min_max', got 'image_vgg16'"),
        (
            {"type": "image_min_max", "minrange": 0},
            "got 'minrange'. Did you mean 'min_range'",
        ),
        ({"type": "image_min_max", "min_range": "0"}, "min_range must be a number"),
    ],
)
def test_a_foreign_dict_is_refused(values, message):
    with pytest.raises(FormatError, match=message):
        ImagePreProcessingScaler.from_dict(values)
