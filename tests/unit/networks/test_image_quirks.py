"""Which networks of images and windows compute otherwise in DL4J's dialect."""

import pytest

import daskdl as dl
from daskdl.nn.dialect_differences import differences
from tests.dialects import DL4J

IMAGES = dl.Convolutional(height=6, width=6, channels=2)
SERIES = dl.Recurrent(size=2, time_steps=6)
NAMES = {
    "lrn_gradient_by_middle_unit",
    "yolo2_squares_lambda_no_obj",
    "series_convolutions_ignore_masks",
    "subsampling1d_ignores_masks",
    "resizing_ignores_masks",
    "softmax_along_last_axis",
    "locally_connected_windows_by_column",
    "locally_connected_ignores_dilation",
    "primary_capsules_along_rows",
    "pixel_losses_leave_masked_outputs",
}
TABLE = {
    "convolution": (IMAGES, dl.Convolution2D(n_out=2, dilation=2, kernel_size=2), ()),
    "softmax": (
        IMAGES,
        dl.Convolution2D(n_out=2, kernel_size=2, activation="softmax"),
        ("softmax_along_last_axis",),
    ),
    "local": (
        IMAGES,
        dl.LocallyConnected2D(n_out=2),
        ("locally_connected_windows_by_column",),
    ),
    "local, dilated": (
        SERIES,
        dl.LocallyConnected1D(n_out=2, dilation=2),
        ("locally_connected_ignores_dilation", "series_convolutions_ignore_masks"),
    ),
    "cropping": (SERIES, dl.Cropping1D(cropping=1), ("resizing_ignores_masks",)),
    "pooling": (SERIES, dl.Subsampling1D(), ("subsampling1d_ignores_masks",)),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_layer_is_concerned_by_what_it_computes_otherwise(name):
    input_type, layer, expected = TABLE[name]
    conf = dl.MultiLayerConfiguration(input=input_type, layers=[layer])
    found = {quirk.name for quirk in differences(conf, DL4J)}
    assert found & NAMES == set(expected)
