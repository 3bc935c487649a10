"""Bytes and images to arrays."""

import io
import sys

import numpy as np
import pyarrow as pa
import pytest

from daskdl.errors import ColumnError, DataError, MissingExtraError
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.images import decode_binary, decode_image_structs

LOCATION = ErrorLocation("part-0", "image", 5)


def encoded(array, form="PNG", mode=None):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    buffer = io.BytesIO()
    made = image.fromarray(array)
    if mode is not None:
        made = image.frombytes(mode, made.size, array.tobytes())
    made.save(buffer, form)
    return buffer.getvalue()


def colours(rng, height=4, width=6, channels=3):
    return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(6)])
def test_raw_bytes_are_uint8(kind):
    rows = [bytes(range(6)), bytes(range(6, 12)), bytes(range(12, 18))]
    found = decode_binary(pa.array(rows, kind).slice(1), LOCATION)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.arange(6, 18).reshape(2, 6))


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
def test_raw_floats_are_told_by_the_bytes_a_feature(dtype, rng):
    values = rng.normal(size=(3, 5)).astype(dtype)
    column = pa.array([row.tobytes() for row in values])
    np.testing.assert_array_equal(decode_binary(column, LOCATION, 5), values)


def test_colour_images_come_out_channels_first(rng):
    images = [colours(rng), colours(rng)]
    found = decode_binary(pa.array([encoded(image) for image in images]), LOCATION)
    np.testing.assert_array_equal(found, np.stack(images).transpose(0, 3, 1, 2))


def test_grey_images_have_one_channel(rng):
    image = colours(rng)[..., 0]
    found = decode_binary(pa.array([encoded(image)]), LOCATION)
    np.testing.assert_array_equal(found, image[None, None])


@pytest.fixture(params=["native", "I;16B", "I"])
def wide_grey(request, monkeypatch):
    """Encodes grey images of 16 bits that Pillow opens in each of its modes."""
    if request.param == "I":  # the mode of 16-bit PNGs before Pillow 10.3
        png = pytest.importorskip("PIL.PngImagePlugin", reason="pillow is missing")
        monkeypatch.setitem(png._MODES, (16, 0), ("I", "I;16B"))
    if request.param == "I;16B":
        return lambda array: encoded(array.astype(">u2"), "TIFF", mode="I;16B")
    return lambda array: encoded(array)


def test_grey_images_of_16_bits_are_scaled_to_8(wide_grey, rng):
    image = rng.integers(0, 65536, (40, 60), dtype=np.uint16)
    found = decode_binary(pa.array([wide_grey(image)]), LOCATION)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.round(image / 257)[None, None])


def test_grey_values_of_8_bits_survive_storage_in_16(wide_grey):
    values = np.arange(256, dtype=np.uint16).reshape(16, 16)
    found = decode_binary(pa.array([wide_grey(values * 257)]), LOCATION)
    np.testing.assert_array_equal(found, values[None, None])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.float32([[0, 0.5], [1, 70000]]), r"TIFF image of floats \(mode 'F'\)"),
        (np.int32([[0, 1], [2, 65536]]), r"signed or 32-bit integers \(mode 'I'\)"),
        (np.int32([[0, 1], [2, -1]]), r"Scale its values to 0 to 65535"),
    ],
)
def test_images_of_unknown_range_are_refused_with_their_row(values, message):
    grey = encoded(np.zeros((2, 2), dtype=np.uint8))
    with pytest.raises(DataError, match=rf"grey ones of 16, row 6 is .*{message}"):
        decode_binary(pa.array([grey, encoded(values, "TIFF")]), LOCATION)


@pytest.mark.parametrize("form", ["JPEG", "GIF", "TIFF", "WEBP"])
def test_other_image_formats_are_recognised(form, rng):
    found = decode_binary(pa.array([encoded(colours(rng), form)]), LOCATION)
    assert found.shape == (1, 3, 4, 6)


def test_images_of_different_sizes_are_refused(rng):
    column = pa.array([encoded(colours(rng)), encoded(colours(rng, 5))])
    with pytest.raises(
        DataError, match=r"row 5 has \(4, 6, 3\), row 6 has \(5, 6, 3\)"
    ):
        decode_binary(column, LOCATION)


def test_damaged_image_is_refused_with_its_row(rng):
    good = encoded(colours(rng))
    with pytest.raises(DataError, match=r"row 6 cannot be decoded"):
        decode_binary(pa.array([good, good[:30]]), LOCATION)


def test_raw_rows_of_different_sizes_are_refused():
    with pytest.raises(DataError, match=r"row 5 has 2, row 6 has 3"):
        decode_binary(pa.array([b"ab", b"abc"]), LOCATION)


def test_null_bytes_are_refused_with_their_row():
    with pytest.raises(DataError, match=r"row 6 is null"):
        decode_binary(pa.array([b"ab", None]), LOCATION)


def test_missing_pillow_is_named_with_the_command(rng, monkeypatch):
    column = pa.array([encoded(colours(rng))])
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[images\]'"):
        decode_binary(column, LOCATION)


def image_struct(image, mode, **other):
    height, width, channels = image.shape
    return {
        "origin": "file:/x.png",
        "height": height,
        "width": width,
        "nChannels": channels,
        "mode": mode,
        "data": image.tobytes(),
        **other,
    }


@pytest.mark.parametrize(
    ("mode", "stored_order"), [(0, [0]), (16, [2, 1, 0]), (24, [2, 1, 0, 3])]
)
def test_image_structs_come_out_in_the_order_red_green_blue(mode, stored_order, rng):
    images = rng.integers(0, 256, (2, 4, 6, len(stored_order)), dtype=np.uint8)
    column = pa.array([image_struct(i[..., stored_order], mode) for i in images])
    found = decode_image_structs(column, LOCATION)
    np.testing.assert_array_equal(found, images.transpose(0, 3, 1, 2))


def test_image_structs_of_floats_are_refused(rng):
    column = pa.array([image_struct(colours(rng), 21)])
    with pytest.raises(ColumnError, match=r"8-bit images .* got mode 21"):
        decode_image_structs(column, LOCATION)


def test_image_structs_with_too_few_bytes_are_refused(rng):
    column = pa.array([image_struct(colours(rng), 16, data=b"abc")])
    with pytest.raises(DataError, match=r"= 72 bytes an image, got 3"):
        decode_image_structs(column, LOCATION)


def test_image_structs_of_different_sizes_are_refused(rng):
    column = pa.array(
        [image_struct(colours(rng), 16), image_struct(colours(rng, 5), 16)]
    )
    with pytest.raises(DataError, match=r"images of one size"):
        decode_image_structs(column, LOCATION)
