"""Normalizers that bring features to mean 0 and standard deviation 1, and back."""

from typing import Any, ClassVar

from daskdl.data.normalizers.single_strategy import SingleStrategyNormalizer
from daskdl.data.normalizers.stats import Vector
from daskdl.data.normalizers.strategies import StandardizeStrategy

__all__ = ["MultiNormalizerStandardize", "NormalizerStandardize"]


class NormalizerStandardize(SingleStrategyNormalizer):
    """Standardizes features: ``(x - mean) / std``, for each feature or channel.

    For rows the statistics are over the examples, for time series also over the time
    steps that the mask keeps, for images also over the pixels. The standard deviation
    is that of the population; where it is not more than 1e-5, 1 takes its place.

    Parameters
    ----------
    feature_axis : int, optional
        1 for rows and for DL4J's data formats NCW and NCHW, -1 for NWC and NHWC. If not
        given, a network that fits the normalizer takes that of its data formats; a fit
        without a network takes 1.
    fit_label : bool
        Standardize labels, too: for regression.

    References
    ----------
    ``NormalizerStandardize`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "standardize"
    strategy_kind: ClassVar[str] = "standardize"

    @property
    def means(self) -> tuple[Vector, ...]:
        """Means of the features, (n_features,) for each input; empty before `fit`."""
        return self._vectors("features", 0)

    @property
    def stds(self) -> tuple[Vector, ...]:
        """Standard deviations, (n_features,) for each input; empty before `fit`."""
        return self._vectors("features", 1)

    @property
    def label_means(self) -> tuple[Vector, ...]:
        """Means of labels, (n_labels,) for each output; empty if not fitted."""
        return self._vectors("labels", 0)

    @property
    def label_stds(self) -> tuple[Vector, ...]:
        """Deviations of labels, (n_labels,) for each output; empty if not fitted."""
        return self._vectors("labels", 1)

    @property
    def mean(self) -> Vector:
        """Means of the features of the (first) input, shape (n_features,)."""
        return self._vector("features", 0)

    @property
    def std(self) -> Vector:
        """Standard deviations of the (first) input, shape (n_features,)."""
        return self._vector("features", 1)

    @property
    def label_mean(self) -> Vector:
        """Means of the labels of the (first) output, shape (n_labels,)."""
        return self._vector("labels", 0)

    @property
    def label_std(self) -> Vector:
        """Standard deviations of labels of the (first) output, shape (n_labels,)."""
        return self._vector("labels", 1)

    def _one_strategy(self) -> StandardizeStrategy:
        return StandardizeStrategy()

    @classmethod
    def _of_options(cls, options: dict[str, Any]) -> "NormalizerStandardize":
        return cls(**options)


class MultiNormalizerStandardize(NormalizerStandardize):
    """:class:`NormalizerStandardize` for DL4J's files of several inputs and outputs.

    References
    ----------
    ``MultiNormalizerStandardize`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "multi_standardize"
