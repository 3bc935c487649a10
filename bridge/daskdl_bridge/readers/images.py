"""Images in binary columns and in Spark's ``image`` struct, to arrays.

Images come out as DL4J keeps them, (batch, channels, height, width), channels in the
order red, green, blue, and as uint8: grey images of 16 bits are scaled, 65535 to 255.
Bytes without a format of their own come out in the shape that the user names for them.
"""

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from daskdl.errors import ColumnError, DataError, MissingExtraError
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.error_location import ErrorLocation, first_true

__all__ = [
    "decode_binary",
    "decode_image_structs",
    "is_binary",
    "is_image_struct",
    "unreadable_images",
]

# First bytes of PNG, JPEG, GIF, TIFF (both byte orders) and of the container of WebP.
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\x00", b"MM\x00*", b"RIFF")

# OpenCV's numbers for 8-bit images, to the channels of Spark's order: blue first.
_CHANNELS_OF_MODE = {0: [0], 16: [2, 1, 0], 24: [2, 1, 0, 3]}

# The largest number of 16 bits over that of 8: 65535 / 255.
_16_TO_8_BITS = 257


def is_binary(arrow_type: Any) -> bool:
    """Tell whether a type is bytes, whatever their layout."""
    return bool(
        pa.types.is_binary(arrow_type)
        or pa.types.is_large_binary(arrow_type)
        or pa.types.is_fixed_size_binary(arrow_type)
    )


def is_image_struct(arrow_type: Any) -> bool:
    """Return whether a type is the struct of Spark's ``image`` source."""
    return pa.types.is_struct(arrow_type) and {
        "height",
        "width",
        "nChannels",
        "mode",
        "data",
    } <= {arrow_type.field(i).name for i in range(arrow_type.num_fields)}


def decode_binary(
    column: Any, place: ErrorLocation, n_features: int | None = None
) -> NDArray[Any]:
    """Turn a column of bytes into an array: encoded images, or raw numbers.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        PNG, JPEG, GIF, TIFF or WebP images of 8 bits a channel, or grey ones of 16
        bits, which become round(value / 257). Or raw numbers: uint8, or little-endian
        float32 or float64 where there are 4 or 8 bytes a feature.
    place : ErrorLocation
        For messages.
    n_features : int, optional
        Numbers an example. Without it, raw bytes are uint8.

    Returns
    -------
    ndarray of shape (rows, channels, height, width), uint8, for encoded images, else
    of shape (rows, n_features), uint8, float32 or float64

    Raises
    ------
    DataError
        If rows differ in size, or one is null or no image, or an image of 32-bit or
        signed numbers, whose black and white nothing tells.
    MissingExtraError
        If images are encoded and Pillow is not installed.
    """
    place.refuse_nulls(as_numpy(column.is_null()))
    column = column.cast(pa.large_binary())
    if len(column) and column[0].as_py().startswith(_MAGIC):
        return _decode_encoded(column, place)
    raw = _bytes_matrix(column, place)
    size = raw.shape[1]
    if n_features and size == 4 * n_features:
        return raw.view("<f4")
    if n_features and size == 8 * n_features:
        return raw.view("<f8")
    return raw


def decode_image_structs(column: Any, place: ErrorLocation) -> NDArray[np.uint8]:
    """Turn a column of Spark's image structs into an array.

    Parameters
    ----------
    column : pyarrow.StructArray of length rows
        8-bit images of equal size with 1, 3 or 4 channels.
    place : ErrorLocation
        For messages.

    Returns
    -------
    ndarray of shape (rows, channels, height, width), uint8

    Raises
    ------
    DataError
        If images differ in size, or one is null.
    ColumnError
        If the images are not of 8 bits.
    """
    place.refuse_nulls(as_numpy(column.is_null()))
    if not len(column):
        return np.zeros((0, 0), dtype=np.uint8)
    names = ("height", "width", "nChannels", "mode")
    sizes = np.stack([as_numpy(column.field(n)) for n in names], axis=1)
    _refuse_other_sizes(sizes, place)
    height, width, channels, mode = (int(size) for size in sizes[0])
    if mode not in _CHANNELS_OF_MODE:
        raise ColumnError(
            f"{place} must hold 8-bit images (OpenCV modes {list(_CHANNELS_OF_MODE)}), "
            f"got mode {mode}."
        )
    raw = _bytes_matrix(column.field("data").cast(pa.large_binary()), place)
    if raw.shape[1] != height * width * channels:
        raise DataError(
            f"{place} must hold height * width * nChannels = "
            f"{height * width * channels} bytes an image, got {raw.shape[1]}."
        )
    images = raw.reshape(len(column), height, width, channels)
    return np.moveaxis(images[..., _CHANNELS_OF_MODE[mode]], 3, 1)


def unreadable_images(column: Any) -> NDArray[np.bool_]:
    """Tell which rows of a column of encoded images hold none; no row of other bytes.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Of bytes, nulls among them.
    """
    values = column.to_pylist()
    found = np.zeros(len(values), np.bool_)
    if not any(value is not None and value.startswith(_MAGIC) for value in values):
        return found
    for row, value in enumerate(values):
        found[row] = value is not None and not _is_readable(value)
    return found


def _is_readable(value: bytes) -> bool:
    try:
        _decode_encoded([pa.scalar(value)], ErrorLocation("", ""))
    except DataError:
        return False
    return True


def _bytes_matrix(column: Any, place: ErrorLocation) -> NDArray[np.uint8]:
    """View large binary values of equal length as (rows, bytes)."""
    rows = len(column)
    _, offsets_buffer, data = column.buffers()
    if not rows or data is None:
        return np.zeros((rows, 0), dtype=np.uint8)
    all_offsets = np.frombuffer(offsets_buffer, dtype=np.int64)
    offsets = all_offsets[column.offset : column.offset + rows + 1]
    lengths = np.diff(offsets)
    differs = lengths != lengths[0]
    if differs.any():
        row = first_true(differs)
        raise DataError(
            f"{place} must hold the same number of bytes in every row; {place.row(0)} "
            f"has {int(lengths[0])}, {place.row(row)} has {int(lengths[row])}."
        )
    flat: NDArray[np.uint8] = np.frombuffer(data, dtype=np.uint8)
    return flat[offsets[0] : offsets[-1]].reshape(rows, int(lengths[0]))


def _decode_encoded(column: Iterable[Any], place: ErrorLocation) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError(
            f"{place} holds encoded images: the package pillow must be installed. "
            "Run: pip install 'daskdl[images]'"
        ) from error
    images: list[NDArray[np.uint8]] = []
    for row, value in enumerate(column):
        if not len(value.as_py()):
            raise DataError(f"{place} must hold images, {place.row(row)} is empty.")
        try:
            with Image.open(io.BytesIO(value.as_py())) as image:
                is_wide = _is_wide(image.mode)
                plain = image if is_wide else image.convert(_plain_mode(image.mode))
                pixels = np.asarray(plain)
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(
                f"{place} must hold images, {place.row(row)} cannot be decoded: {error}"
            ) from error
        if is_wide:
            _refuse_unknown_range(image, place, row)
            pixels = _to_8_bits(pixels)
        images.append(pixels if pixels.ndim == 3 else pixels[..., np.newaxis])
    _refuse_other_sizes(np.array([image.shape for image in images]), place)
    return np.moveaxis(np.stack(images), 3, 1)


def _plain_mode(mode: str) -> str:
    """Return grey or colour, with alpha if the image has it."""
    if mode in ("1", "L"):
        return "L"
    return "RGBA" if mode in ("RGBA", "LA", "PA") else "RGB"


def _is_wide(mode: str) -> bool:
    """Tell whether an image is grey with more than 8 bits, which Pillow would clip."""
    return mode in ("I", "F") or mode.startswith("I;16")


def _refuse_unknown_range(image: Any, place: ErrorLocation, row: int) -> None:
    # Before Pillow 10.3 a PNG of 16 bits has the mode of 32-bit integers.
    if image.mode.startswith("I;16") or (image.mode, image.format) == ("I", "PNG"):
        return
    kind = "floats" if image.mode == "F" else "signed or 32-bit integers"
    raise DataError(
        f"{place} must hold images of 8 bits a channel or grey ones of 16, "
        f"{place.row(row)} is a {image.format} image of {kind} (mode {image.mode!r}). "
        "Scale its values to 0 to 65535 and store them as a PNG of 16 bits."
    )


def _to_8_bits(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    # Half of the divisor rounds; uint32 because the sum can exceed 16 bits.
    rounded = (pixels.astype(np.uint32) + _16_TO_8_BITS // 2) // _16_TO_8_BITS
    return rounded.astype(np.uint8)


def _refuse_other_sizes(sizes: NDArray[Any], place: ErrorLocation) -> None:
    differs = (sizes != sizes[0]).any(axis=1)
    if differs.any():
        row = first_true(differs)
        raise DataError(
            f"{place} must hold images of one size; {place.row(0)} has "
            f"{tuple(sizes[0].tolist())}, {place.row(row)} has "
            f"{tuple(sizes[row].tolist())}."
        )
