"""The normalizer of pixels for some of several inputs."""

from collections.abc import Sequence
from typing import Any, ClassVar

from daskdl.data.normalizers.image import ImagePreProcessingScaler
from daskdl.data.normalizers.normalizer import Group
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.normalizers.scaler import Scaler
from daskdl.errors import OptionError, ShapeError

__all__ = ["ImageMultiPreProcessingScaler"]

_OPTIONS = ("min_range", "max_range", "max_bits", "max_pixel_value")


class ImageMultiPreProcessingScaler(ImagePreProcessingScaler):
    """Scales the pixels of some inputs; others, and labels, are left alone.

    Parameters
    ----------
    feature_indices : sequence of int
        Indices of the inputs that are images; ``[0]`` where there is one input.
    min_range, max_range, max_bits, max_pixel_value
        As for :class:`ImagePreProcessingScaler`.

    Raises
    ------
    OptionError
        If there is no index, or another option cannot be right.
    ShapeError
        In `transform`, if there is no such input.

    References
    ----------
    ``ImageMultiPreProcessingScaler`` of Deeplearning4j 1.0.0-M2.1, which takes the
    indices last, and which DL4J cannot store.
    """

    kind: ClassVar[str] = "multi_image_min_max"

    def __init__(
        self,
        feature_indices: Sequence[int],
        min_range: float = 0.0,
        max_range: float = 1.0,
        max_bits: int = 8,
        *,
        max_pixel_value: float | None = None,
    ) -> None:
        super().__init__(
            min_range, max_range, max_bits, max_pixel_value=max_pixel_value
        )
        self.feature_indices = _indices(type(self).__name__, feature_indices)

    def fit_label(self, fit_label: bool = True) -> "ImageMultiPreProcessingScaler":
        """Refuse to normalize labels."""
        if fit_label:
            raise OptionError(
                "ImageMultiPreProcessingScaler: fit_label must be False, since only "
                "inputs have indices here, got True."
            )
        return self

    def _scalers(self, who: str, group: Group, n_arrays: int) -> list[Scaler | None]:
        if group == "labels":
            return [None] * n_arrays
        if max(self.feature_indices) >= n_arrays:
            raise ShapeError(
                f"{who}: there must be an input {max(self.feature_indices)}, got "
                f"{n_arrays} inputs."
            )
        return [self if i in self.feature_indices else None for i in range(n_arrays)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        values = super().to_dict()
        del values["fit_label"]
        return {**values, "feature_indices": list(self.feature_indices)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ImageMultiPreProcessingScaler":
        """Return the normalizer that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        OptionError
            If an option cannot be right.
        """
        check_kind(cls.__name__, values, cls.kind)
        check_keys(cls.__name__, values, ["feature_indices", *_OPTIONS])
        given = {name: values[name] for name in _OPTIONS if name in values}
        return cls(values.get("feature_indices", ()), **given)


def _indices(who: str, indices: Any) -> tuple[int, ...]:
    found = tuple(indices) if isinstance(indices, Sequence) else ()
    is_index = [
        isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in found
    ]
    if not found or isinstance(indices, str) or not all(is_index):
        raise OptionError(
            f"{who}: feature_indices must be indices of inputs, counted from 0, got "
            f"{indices!r}."
        )
    return found
