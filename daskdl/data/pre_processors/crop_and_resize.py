"""The preprocessor that takes a part of each image."""

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_at_least, check_count, check_one_of
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.normalizers.scaler import float_like
from daskdl.data.pre_processors.pre_processor import FeaturesPreProcessor
from daskdl.errors import FormatError, ShapeError

__all__ = ["CropAndResizeDataSetPreProcessor"]

_Array: TypeAlias = NDArray[Any]
_Sample: TypeAlias = NDArray[np.float32]

_SIZES = ("original_height", "original_width", "resized_height", "resized_width")
_STARTS = ("crop_y_start", "crop_x_start")


class CropAndResizeDataSetPreProcessor(FeaturesPreProcessor):
    """Takes a box of each image, and samples as many points of it as it has pixels.

    Parameters
    ----------
    original_height, original_width : int
        Of the images: what the box is a part of.
    crop_y_start, crop_x_start : int
        Where the box begins.
    resized_height, resized_width : int
        How large the box is, and what comes out.
    num_channels : int
        Of the images.
    resize_method : {"bilinear", "nearest_neighbor"}
        How a point between pixels is read.

    Raises
    ------
    OptionError
        If a size is not positive, or the box begins in front of the image.
    ShapeError
        In `transform`, if the features are no images (batch, height, width, channels).

    Notes
    -----
    The points are those of TensorFlow's ``crop_and_resize``, so that the pixels are
    those of the box only where it is the whole image: the box ends at
    ``(start + size) / original * (original - 1)``, and its points are spread evenly
    from the first to that one. What lies outside of the image is 0.

    DL4J takes the first image of a minibatch, and forgets the others.

    References
    ----------
    ``CropAndResizeDataSetPreProcessor`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "crop_and_resize"

    def __init__(
        self,
        original_height: int,
        original_width: int,
        crop_y_start: int,
        crop_x_start: int,
        resized_height: int,
        resized_width: int,
        num_channels: int,
        resize_method: Literal["bilinear", "nearest_neighbor"] = "bilinear",
    ) -> None:
        super().__init__()
        who = type(self).__name__
        self.original_height = check_count(who, "original_height", original_height)
        self.original_width = check_count(who, "original_width", original_width)
        self.crop_y_start = int(check_at_least(who, "crop_y_start", crop_y_start, 0))
        self.crop_x_start = int(check_at_least(who, "crop_x_start", crop_x_start, 0))
        self.resized_height = check_count(who, "resized_height", resized_height)
        self.resized_width = check_count(who, "resized_width", resized_width)
        self.num_channels = check_count(who, "num_channels", num_channels)
        methods = ("bilinear", "nearest_neighbor")
        self.resize_method = check_one_of(who, "resize_method", resize_method, methods)

    def _new_features(self, who: str, features: _Array) -> _Array:
        if features.ndim != 4 or features.shape[3] != self.num_channels:
            raise ShapeError(
                f"{who}: features must be images (batch, height, width, "
                f"{self.num_channels}), got shape {features.shape}."
            )
        rows = _points(
            self.crop_y_start,
            self.original_height,
            self.resized_height,
            features.shape[1],
        )
        columns = _points(
            self.crop_x_start,
            self.original_width,
            self.resized_width,
            features.shape[2],
        )
        pixels = features.astype(np.float32, copy=False)
        if self.resize_method == "bilinear":
            sampled = _bilinear(pixels, rows, columns)
        else:
            sampled = pixels[:, _nearest(rows, features.shape[1])]
            sampled = sampled[:, :, _nearest(columns, features.shape[2])]
        sampled = sampled * _is_inside(rows, features.shape[1])[:, None, None]
        sampled = sampled * _is_inside(columns, features.shape[2])[:, None]
        return float_like(features, sampled)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        names = (*_SIZES, *_STARTS, "num_channels", "resize_method")
        return {"type": self.kind, **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "CropAndResizeDataSetPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        check_kind(cls.__name__, values, cls.kind)
        needed = [*_SIZES, *_STARTS, "num_channels"]
        check_keys(cls.__name__, values, [*needed, "resize_method"])
        missing = [name for name in needed if name not in values]
        if missing:
            raise FormatError(
                f"{cls.__name__}.from_dict: {missing[0]} must be given, got none."
            )
        return cls(**{name: item for name, item in values.items() if name != "type"})


def _points(start: int, original: int, size: int, length: int) -> _Sample:
    """Return where along an axis of `length` pixels the points lie, in float32."""
    one = np.float32
    first, last = one(start) / one(original), one(start + size) / one(original)
    if size == 1:
        middle = 0.5 * float(first + last) * (length - 1)
        return np.array([middle], np.float32)
    scale = (last - first) * one(length - 1) / one(size - 1)
    found: _Sample = first * one(length - 1) + np.arange(size, dtype=np.float32) * scale
    return found


def _is_inside(points: _Sample, length: int) -> _Sample:
    return ((points >= 0) & (points <= length - 1)).astype(np.float32)


def _nearest(points: _Sample, length: int) -> NDArray[np.intp]:
    # C rounds halves away from 0.
    nearest = np.floor(points + np.float32(0.5)).astype(np.intp)
    clipped: NDArray[np.intp] = np.clip(nearest, 0, length - 1)
    return clipped


def _bilinear(pixels: _Array, rows: _Sample, columns: _Sample) -> _Array:
    top, bottom, down = _neighbours(rows, pixels.shape[1])
    left, right, along = _neighbours(columns, pixels.shape[2])
    along, down = along[:, None], down[:, None, None]
    upper, lower = pixels[:, top], pixels[:, bottom]
    above = upper[:, :, left] + (upper[:, :, right] - upper[:, :, left]) * along
    below = lower[:, :, left] + (lower[:, :, right] - lower[:, :, left]) * along
    sampled: _Array = above + (below - above) * down
    return sampled


def _neighbours(
    points: _Sample, length: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], _Sample]:
    """Return the pixels on both sides, and how far each point is from the first."""
    low = np.floor(points)
    sides = [
        np.clip(one, 0, length - 1).astype(np.intp) for one in (low, np.ceil(points))
    ]
    return sides[0], sides[1], points - low
