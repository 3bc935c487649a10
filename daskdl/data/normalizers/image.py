"""Normalizers of pixels, which need not learn anything."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.checks import check_count, check_one_of, check_positive
from daskdl.data.normalizers.normalizer import Group, Normalizer
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.normalizers.scaler import Scaler, as_work, float_like
from daskdl.data.normalizers.strategies import Direction, Step, apply_steps
from daskdl.data.pairs import Examples
from daskdl.data.sources.partition import Source
from daskdl.data.statistics import FeatureStatistics
from daskdl.errors import FormatError, OptionError, ShapeError

__all__ = ["ImagePreProcessingScaler", "VGG16ImagePreProcessor"]

_Array: TypeAlias = NDArray[Any]
P = TypeVar("P", bound="_PixelNormalizer")

# Of the pictures that VGG-16 was trained on.
_VGG_MEANS = np.array([103.939, 116.779, 123.68])


class _PixelNormalizer(Normalizer):
    """Base of the normalizers of pixels, whose range is known beforehand."""

    @property
    def is_fitted(self) -> bool:
        """Always."""
        return True

    def fit(self: P, data: Examples | Iterable[Examples] | Source) -> P:
        """Do nothing: there is nothing to learn."""
        return self

    def fit_statistics(
        self: P,
        statistics: Sequence[FeatureStatistics],
        label_statistics: Sequence[FeatureStatistics] = (),
    ) -> P:
        """Do nothing: there is nothing to learn."""
        return self

    @abstractmethod
    def steps(self, direction: Direction, n_axes: int, dtype: DTypeLike) -> list[Step]:
        """Return the operations; see :meth:`Scaler.steps`."""

    def scale(
        self, who: str, direction: Direction, values: _Array, mask: _Array | None
    ) -> _Array:
        """Return new pixels; masks play no part.

        Raises
        ------
        ShapeError
            If they are no such images.
        """
        self._check_shape(who, values)
        pixels = as_work(values)
        steps = self.steps(direction, values.ndim, pixels.dtype)
        return float_like(values, apply_steps(pixels, steps))

    def _check_shape(self, who: str, values: _Array) -> None:
        """Refuse arrays that are no images of the right kind."""

    def _scalers(self, who: str, group: Group, n_arrays: int) -> list[Scaler | None]:
        if group == "labels" and not self.is_fit_label:
            return [None] * n_arrays
        return [self] * n_arrays


class ImagePreProcessingScaler(_PixelNormalizer):
    """Scales pixels to a range: ``x / max_pixel_value * (max - min) + min``.

    Parameters
    ----------
    min_range, max_range : float
        Where black and the brightest pixel come to.
    max_bits : int
        Of a pixel; the brightest is ``2 ** max_bits - 1``.
    max_pixel_value : float, optional
        The brightest pixel, if that is something else.
    fit_label : bool
        Scale labels, too: for segmentation.

    Raises
    ------
    OptionError
        If the range has no width, or an option is not positive.

    Notes
    -----
    DL4J's ``revert`` fails unless labels are images, fitted or not. Here it leaves
    labels alone that `transform` leaves alone.

    References
    ----------
    ``ImagePreProcessingScaler`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "image_min_max"

    def __init__(
        self,
        min_range: float = 0.0,
        max_range: float = 1.0,
        max_bits: int = 8,
        *,
        max_pixel_value: float | None = None,
        fit_label: bool = False,
    ) -> None:
        super().__init__(fit_label=fit_label)
        who = type(self).__name__
        if max_pixel_value is None:
            max_pixel_value = 2.0 ** check_count(who, "max_bits", max_bits) - 1
        if min_range == max_range:
            raise OptionError(
                f"{who}: min_range and max_range must differ, got {min_range!r} twice."
            )
        self.min_range = min_range
        self.max_range = max_range
        self.max_pixel_value = check_positive(who, "max_pixel_value", max_pixel_value)

    def steps(self, direction: Direction, n_axes: int, dtype: DTypeLike) -> list[Step]:
        """Return the operations; see :meth:`Scaler.steps`."""
        width = self.max_range - self.min_range
        if direction == "transform":
            return [
                ("divide", self.max_pixel_value),
                ("multiply", width),
                ("add", self.min_range),
            ]
        return [
            ("subtract", self.min_range),
            ("divide", width),
            ("multiply", self.max_pixel_value),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {
            "type": self.kind,
            "min_range": self.min_range,
            "max_range": self.max_range,
            "max_pixel_value": self.max_pixel_value,
            "fit_label": self.is_fit_label,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ImagePreProcessingScaler":
        """Return the normalizer that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        """
        return cls(**_options(cls, values, "max_bits"))


class VGG16ImagePreProcessor(_PixelNormalizer):
    """Subtracts from each channel its mean in the pictures that VGG-16 learnt from.

    The channels are blue, green and red. Labels are left alone.

    Parameters
    ----------
    feature_axis : int
        Axis of the channels: 1 for DL4J's data format NCHW, -1 for NHWC.

    Raises
    ------
    OptionError
        If `feature_axis` is another.

    References
    ----------
    ``VGG16ImagePreProcessor`` of Deeplearning4j 1.0.0-M2.1. Simonyan and Zisserman,
    *Very Deep Convolutional Networks for Large-Scale Image Recognition*, 2014.
    """

    kind: ClassVar[str] = "image_vgg16"

    def __init__(self, *, feature_axis: int = 1) -> None:
        check_one_of(type(self).__name__, "feature_axis", feature_axis, (1, -1))
        super().__init__(feature_axis=feature_axis)

    def fit_label(self, fit_label: bool = True) -> "VGG16ImagePreProcessor":
        """Refuse to normalize labels."""
        if fit_label:
            raise OptionError(
                "VGG16ImagePreProcessor: fit_label must be False, since the means are "
                "those of pictures, got True."
            )
        return self

    def steps(self, direction: Direction, n_axes: int, dtype: DTypeLike) -> list[Step]:
        """Return the operations; see :meth:`Scaler.steps`."""
        shape = [1] * n_axes
        shape[self.feature_axis] = -1
        means = _VGG_MEANS.reshape(shape).astype(dtype)
        return [("subtract" if direction == "transform" else "add", means)]

    def _check_shape(self, who: str, values: _Array) -> None:
        n_channels = len(_VGG_MEANS)
        if values.ndim != 4 or values.shape[self.feature_axis] != n_channels:
            raise ShapeError(
                f"{who}: must be images with {n_channels} channels along axis "
                f"{self.feature_axis}, got shape {values.shape}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {"type": self.kind, "feature_axis": self.feature_axis}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "VGG16ImagePreProcessor":
        """Return the normalizer that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        """
        return cls(**_options(cls, values))


def _options(
    cls: type[_PixelNormalizer], values: dict[str, Any], *more: str
) -> dict[str, Any]:
    check_kind(cls.__name__, values, cls.kind)
    known = [name for name in cls().to_dict() if name != "type"]
    check_keys(cls.__name__, values, [*known, *more])
    for name, value in values.items():
        if name != "type" and not isinstance(value, int | float):
            raise FormatError(
                f"{cls.__name__}.from_dict: {name} must be a number, got {value!r}."
            )
    return {name: value for name, value in values.items() if name != "type"}
