"""Normalizers: bring features to mean 0 and standard deviation 1, and back."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_one_of
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import Source
from daskdl.data.statistics import FeatureStatistics
from daskdl.errors import DataError, FormatError, OptionError, ShapeError

__all__ = ["NormalizerStandardize"]

_Examples: TypeAlias = DataSet | MultiDataSet
_Vector: TypeAlias = NDArray[np.float64]
E = TypeVar("E", DataSet, MultiDataSet)

# DL4J's floor: features that hardly vary are not blown up without bound.
_LEAST_STD = 1e-5


class NormalizerStandardize:
    """Standardizes features: ``(x - mean) / std``, for each feature or channel.

    For rows the statistics are over the examples, for time series also over the time
    steps that the mask keeps, for images also over the pixels. The standard deviation
    is that of the population, raised to 1e-5 at least; it is 1 where a feature is
    constant.

    Parameters
    ----------
    feature_axis : int
        1 for rows and for DL4J's data formats NCW and NCHW, -1 for NWC and NHWC.

    Attributes
    ----------
    means, stds : tuple of ndarray of shape (n_features,), float64
        One of each for each input; empty before `fit`.

    References
    ----------
    ``NormalizerStandardize`` and ``MultiNormalizerStandardize`` of Deeplearning4j
    1.0.0-M2.1. There a constant feature has a standard deviation of 1 only if it was
    fitted in a single batch; here always.
    """

    def __init__(self, *, feature_axis: int = 1) -> None:
        self.feature_axis = check_one_of(
            "NormalizerStandardize", "feature_axis", feature_axis, (1, -1)
        )
        self.means: tuple[_Vector, ...] = ()
        self.stds: tuple[_Vector, ...] = ()

    @property
    def mean(self) -> _Vector:
        """Mean of each feature of the (first) input."""
        self._check_fitted()
        return self.means[0]

    @property
    def std(self) -> _Vector:
        """Standard deviation of each feature of the (first) input, as it is used."""
        self._check_fitted()
        return self.stds[0]

    def fit(
        self, data: _Examples | Iterable[_Examples] | Source
    ) -> "NormalizerStandardize":
        """Take the statistics from data, and forget those from before.

        Parameters
        ----------
        data : DataSet, MultiDataSet, iterable of them, or Source
            The partitions of a source are loaded one after another in this process.

        Returns
        -------
        NormalizerStandardize
            Itself.

        Raises
        ------
        DataError
            If there are no examples.
        ShapeError
            If examples differ in their number of inputs or features.
        """
        merged: tuple[FeatureStatistics, ...] | None = None
        for examples in _each(data):
            found = self._statistics(MultiDataSet.of(examples))
            if merged is None:
                merged = found
            elif len(merged) != len(found):
                raise ShapeError(
                    f"NormalizerStandardize.fit: all data sets must have the same "
                    f"number of inputs, got {len(merged)} and {len(found)}."
                )
            else:
                merged = tuple(a.merge(b) for a, b in zip(merged, found, strict=True))
        return self.fit_statistics(merged or ())

    def fit_statistics(
        self, statistics: Sequence[FeatureStatistics]
    ) -> "NormalizerStandardize":
        """Take statistics that were collected elsewhere, such as by a scan.

        Parameters
        ----------
        statistics : sequence of FeatureStatistics
            One an input.

        Returns
        -------
        NormalizerStandardize
            Itself.

        Raises
        ------
        DataError
            If nothing was seen.
        """
        if not statistics or not all(one.count for one in statistics):
            raise DataError(
                "NormalizerStandardize.fit: data must hold at least one example that "
                "counts, got none."
            )
        self.means = tuple(one.mean for one in statistics)
        self.stds = tuple(_usable_std(one) for one in statistics)
        return self

    def transform(self, examples: E) -> E:
        """Return the examples with standardized features; labels are the same arrays.

        Parameters
        ----------
        examples : DataSet or MultiDataSet
            Not changed.

        Returns
        -------
        DataSet or MultiDataSet
            Features are new arrays, of the same dtype if that is float, else float32.
            Time steps that the mask drops are 0.

        Raises
        ------
        OptionError
            Before `fit`.
        ShapeError
            If the number of inputs or features is not the fitted one.
        """
        return self._apply("transform", examples)

    def revert(self, examples: E) -> E:
        """Return the examples with the features as before `transform`.

        Dropped time steps are 0. Parameters and errors are those of `transform`.
        """
        return self._apply("revert", examples)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss.

        Raises
        ------
        OptionError
            Before `fit`.
        """
        self._check_fitted()
        return {
            "type": "standardize",
            "feature_axis": self.feature_axis,
            "mean": [mean.tolist() for mean in self.means],
            "std": [std.tolist() for std in self.stds],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "NormalizerStandardize":
        """Return the normalizer that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        """
        if values.get("type") != "standardize" or not {"mean", "std"} <= values.keys():
            raise FormatError(
                "NormalizerStandardize.from_dict: values must have type 'standardize', "
                f"mean and std, got type {values.get('type')!r} and keys "
                f"{sorted(values)!r}."
            )
        normalizer = cls(feature_axis=values.get("feature_axis", 1))
        normalizer.means = tuple(np.array(mean, np.float64) for mean in values["mean"])
        normalizer.stds = tuple(np.array(std, np.float64) for std in values["std"])
        return normalizer

    def _statistics(self, examples: MultiDataSet) -> tuple[FeatureStatistics, ...]:
        masks = examples.features_masks or [None] * len(examples.features)
        return tuple(
            FeatureStatistics.of(array, mask, feature_axis=self.feature_axis)
            for array, mask in zip(examples.features, masks, strict=True)
        )

    def _check_fitted(self) -> None:
        if not self.means:
            raise OptionError(
                "NormalizerStandardize: must be fitted before it is used. Call fit."
            )

    def _apply(self, how: str, examples: E) -> E:
        self._check_fitted()
        who = f"NormalizerStandardize.{how}"
        inputs = MultiDataSet.of(examples)
        if len(inputs.features) != len(self.means):
            raise ShapeError(
                f"{who}: examples must have the {len(self.means)} inputs that were "
                f"fitted, got {len(inputs.features)}."
            )
        masks = inputs.features_masks or [None] * len(inputs.features)
        features = [
            self._scaled(who, array, mask, index, is_revert=how == "revert")
            for index, (array, mask) in enumerate(
                zip(inputs.features, masks, strict=True)
            )
        ]
        return _with_features(examples, features)

    def _scaled(
        self,
        who: str,
        values: NDArray[Any],
        mask: NDArray[Any] | None,
        index: int,
        *,
        is_revert: bool,
    ) -> NDArray[Any]:
        n_features = len(self.means[index])
        if values.ndim < 2 or values.shape[self.feature_axis] != n_features:
            raise ShapeError(
                f"{who}: features must have {n_features} entries along axis "
                f"{self.feature_axis}, got shape {values.shape}."
            )
        dtype = values.dtype if values.dtype.kind == "f" else np.dtype(np.float32)
        shape = [1] * values.ndim
        shape[self.feature_axis] = n_features
        mean = self.means[index].reshape(shape)
        std = self.stds[index].reshape(shape)
        # In float64: a mean far from 0 costs float32 the digits that matter.
        exact = values * std + mean if is_revert else (values - mean) / std
        scaled: NDArray[Any] = exact.astype(dtype)
        if mask is not None and values.ndim == 3:
            kept = np.expand_dims(np.asarray(mask, dtype=bool), self.feature_axis)
            scaled *= kept
        return scaled


def _usable_std(statistics: FeatureStatistics) -> _Vector:
    std = np.maximum(statistics.std, _LEAST_STD)
    return np.where(statistics.minimum == statistics.maximum, 1.0, std)


def _each(data: _Examples | Iterable[_Examples] | Source) -> Iterable[_Examples]:
    if isinstance(data, DataSet | MultiDataSet):
        return [data]
    if isinstance(data, Source):
        return (partition.load() for partition in data.partitions)
    return data


def _with_features(examples: E, features: list[NDArray[Any]]) -> E:
    if isinstance(examples, MultiDataSet):
        return MultiDataSet(
            features,
            examples.labels,
            examples.features_masks,
            examples.labels_masks,
            keys=examples.keys,
        )
    return DataSet(
        features[0],
        examples.labels,
        examples.features_mask,
        examples.labels_mask,
        keys=examples.keys,
    )
