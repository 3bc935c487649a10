"""Preprocessors of images: flat, gray, or with their axes in another order."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_one_of
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.normalizers.scaler import as_work, float_like
from daskdl.data.pre_processors.pre_processor import FeaturesPreProcessor
from daskdl.errors import OptionError, ShapeError

__all__ = [
    "ImageFlatteningDataSetPreProcessor",
    "PermuteDataSetPreProcessor",
    "RGBtoGrayscaleDataSetPreProcessor",
]

_Array: TypeAlias = NDArray[Any]

# Of red, green and blue; in DL4J they have the precision of float32.
_RATIOS = np.array([0.3, 0.59, 0.11], np.float32)
_PERMUTATIONS = {"nchw_to_nhwc": (0, 2, 3, 1), "nhwc_to_nchw": (0, 3, 1, 2)}


class ImageFlatteningDataSetPreProcessor(FeaturesPreProcessor):
    """Makes rows of images, in the order in which their numbers lie.

    Rows stay as they are.

    Raises
    ------
    ShapeError
        In `transform`, if the features are neither images nor rows.

    References
    ----------
    ``ImageFlatteningDataSetPreProcessor`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "image_flattening"

    def _new_features(self, who: str, features: _Array) -> _Array:
        if features.ndim == 2:
            return features
        _check_images(who, features)
        return features.reshape(len(features), -1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {"type": self.kind}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ImageFlatteningDataSetPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        check_kind(cls.__name__, values, cls.kind)
        check_keys(cls.__name__, values, [])
        return cls()


class RGBtoGrayscaleDataSetPreProcessor(FeaturesPreProcessor):
    """Makes gray images of colored ones: ``0.3 * red + 0.59 * green + 0.11 * blue``.

    Parameters
    ----------
    keep_channel : bool
        Whether images keep an axis of one channel, as layers for images need it. DL4J
        drops the axis.

    Raises
    ------
    ShapeError
        In `transform`, if the features are no images (batch, 3, height, width).

    References
    ----------
    ``RGBtoGrayscaleDataSetPreProcessor`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "rgb_to_grayscale"

    def __init__(self, *, keep_channel: bool = False) -> None:
        super().__init__()
        check_one_of(type(self).__name__, "keep_channel", keep_channel, (True, False))
        self.keep_channel = bool(keep_channel)

    def _new_features(self, who: str, features: _Array) -> _Array:
        _check_images(who, features)
        if features.shape[1] != len(_RATIOS):
            raise ShapeError(
                f"{who}: features must have {len(_RATIOS)} channels along axis 1, got "
                f"shape {features.shape}."
            )
        pixels = as_work(features)
        red, green, blue = (
            pixels[:, i] * ratio.astype(pixels.dtype) for i, ratio in enumerate(_RATIOS)
        )
        gray = float_like(features, red + green + blue)
        return gray[:, np.newaxis] if self.keep_channel else gray

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {"type": self.kind, "keep_channel": self.keep_channel}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "RGBtoGrayscaleDataSetPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        check_kind(cls.__name__, values, cls.kind)
        check_keys(cls.__name__, values, ["keep_channel"])
        return cls(keep_channel=values.get("keep_channel", False))


class PermuteDataSetPreProcessor(FeaturesPreProcessor):
    """Puts the axes of the features into another order.

    Parameters
    ----------
    permutation : {"nchw_to_nhwc", "nhwc_to_nchw"} or sequence of int
        Where each axis comes from, that of the examples included: ``(0, 2, 1)``
        exchanges features and time of series.

    Raises
    ------
    OptionError
        If it is no order of axes, or moves that of the examples.
    ShapeError
        In `transform`, if the features have another number of axes.

    References
    ----------
    ``PermuteDataSetPreProcessor`` of Deeplearning4j 1.0.0-M2.1, where these are the
    types NCHWtoNHWC, NHWCtoNCHW and Custom.
    """

    kind: ClassVar[str] = "permute"

    def __init__(self, permutation: str | Sequence[int]) -> None:
        super().__init__()
        self.axes = _axes(type(self).__name__, permutation)

    def _new_features(self, who: str, features: _Array) -> _Array:
        if features.ndim != len(self.axes):
            raise ShapeError(
                f"{who}: features must have {len(self.axes)} axes, got shape "
                f"{features.shape}."
            )
        return np.ascontiguousarray(features.transpose(self.axes))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {"type": self.kind, "permutation": list(self.axes)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "PermuteDataSetPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        check_kind(cls.__name__, values, cls.kind)
        check_keys(cls.__name__, values, ["permutation"])
        return cls(values.get("permutation", ()))


def _axes(who: str, permutation: Any) -> tuple[int, ...]:
    if isinstance(permutation, str):
        names = {name.replace("_", ""): name for name in _PERMUTATIONS}
        name = names.get(permutation.lower().replace("_", ""), permutation)
        return _PERMUTATIONS[check_one_of(who, "permutation", name, _PERMUTATIONS)]
    axes = tuple(permutation) if isinstance(permutation, Sequence) else ()
    if not axes or list(axes[:1]) != [0] or sorted(axes) != list(range(len(axes))):
        raise OptionError(
            f"{who}: permutation must be one of {', '.join(map(repr, _PERMUTATIONS))}, "
            f"or an order of axes that begins with 0, got {permutation!r}."
        )
    return axes


def _check_images(who: str, features: _Array) -> None:
    if features.ndim != 4:
        raise ShapeError(
            f"{who}: features must be images with four axes, got shape "
            f"{features.shape}."
        )
