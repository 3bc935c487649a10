"""Normalizers that bring features into a range, and back."""

from typing import Any, ClassVar

from daskdl.data.normalizers.single_strategy import SingleStrategyNormalizer
from daskdl.data.normalizers.stats import Vector
from daskdl.data.normalizers.strategies import MinMaxStrategy

__all__ = ["MultiNormalizerMinMaxScaler", "NormalizerMinMaxScaler"]


class NormalizerMinMaxScaler(SingleStrategyNormalizer):
    """Scales each feature, or channel, from its bounds to a range.

    ``(x - min) / (max - min) * (target_max - target_min) + target_min``, where bounds
    that are less than 1e-5 apart are moved to that.

    Parameters
    ----------
    target_min, target_max : float
        The range; values beyond the bounds that were seen come to lie outside.
    feature_axis : int, optional
        1 for rows and for DL4J's data formats NCW and NCHW, -1 for NWC and NHWC. If not
        given, a network that fits the normalizer takes that of its data formats; a fit
        without a network takes 1.
    fit_label : bool
        Scale labels, too: for regression.

    Raises
    ------
    OptionError
        If the range is not at least 1e-5 wide.

    References
    ----------
    ``NormalizerMinMaxScaler`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "min_max"
    strategy_kind: ClassVar[str] = "min_max"

    def __init__(
        self,
        target_min: float = 0.0,
        target_max: float = 1.0,
        *,
        feature_axis: int | None = None,
        fit_label: bool = False,
    ) -> None:
        super().__init__(feature_axis=feature_axis, fit_label=fit_label)
        self._range = MinMaxStrategy(target_min, target_max)

    @property
    def target_min(self) -> float:
        """The number that the smallest value seen becomes."""
        return self._range.min_range

    @property
    def target_max(self) -> float:
        """The number that the largest value seen becomes."""
        return self._range.max_range

    @property
    def mins(self) -> tuple[Vector, ...]:
        """Lower bounds, (n_features,) for each input; empty before `fit`."""
        return self._vectors("features", 0)

    @property
    def maxs(self) -> tuple[Vector, ...]:
        """Upper bounds, (n_features,) for each input; empty before `fit`."""
        return self._vectors("features", 1)

    @property
    def label_mins(self) -> tuple[Vector, ...]:
        """Lower bounds, (n_labels,) for each output; empty if not fitted."""
        return self._vectors("labels", 0)

    @property
    def label_maxs(self) -> tuple[Vector, ...]:
        """Upper bounds, (n_labels,) for each output; empty if not fitted."""
        return self._vectors("labels", 1)

    @property
    def min(self) -> Vector:
        """Lower bounds of the (first) input, shape (n_features,)."""
        return self._vector("features", 0)

    @property
    def max(self) -> Vector:
        """Upper bounds of the (first) input, shape (n_features,)."""
        return self._vector("features", 1)

    @property
    def label_min(self) -> Vector:
        """Lower bounds of the labels of the (first) output, shape (n_labels,)."""
        return self._vector("labels", 0)

    @property
    def label_max(self) -> Vector:
        """Upper bounds of the labels of the (first) output, shape (n_labels,)."""
        return self._vector("labels", 1)

    def _one_strategy(self) -> MinMaxStrategy:
        return self._range

    def _options(self) -> dict[str, Any]:
        return {
            "target_min": self.target_min,
            "target_max": self.target_max,
            **super()._options(),
        }

    @classmethod
    def _of_options(cls, options: dict[str, Any]) -> "NormalizerMinMaxScaler":
        return cls(**options)


class MultiNormalizerMinMaxScaler(NormalizerMinMaxScaler):
    """:class:`NormalizerMinMaxScaler` for DL4J's files of several inputs and outputs.

    References
    ----------
    ``MultiNormalizerMinMaxScaler`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "multi_min_max"
