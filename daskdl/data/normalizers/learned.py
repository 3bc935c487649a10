"""Normalizers that learn from data, in one pass over them."""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from daskdl.checks import check_one_of
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.normalizer import Group, Normalizer
from daskdl.data.normalizers.scaler import FeatureScaler, Scaler
from daskdl.data.normalizers.stats import NormalizerStats
from daskdl.data.normalizers.strategies import NormalizerStrategy
from daskdl.data.pairs import Examples, as_examples, is_array, is_pair
from daskdl.data.sources.partition import Source
from daskdl.data.statistics import (
    FeatureStatistics,
    merge_statistics,
    statistics_of,
)
from daskdl.errors import DataError, OptionError, ShapeError

__all__ = ["LearnedNormalizer", "StatsByIndex"]

logger = logging.getLogger(__name__)

StatsByIndex: TypeAlias = Mapping[int, NormalizerStats]
"""What was learnt of each input, or output, that is normalized."""

N = TypeVar("N", bound="LearnedNormalizer")

_INPUTS = {"features": "inputs", "labels": "outputs"}


class LearnedNormalizer(Normalizer):
    """Learns statistics of every input, and of outputs if labels are normalized.

    For rows it learns over the examples, for time series also over the time steps that
    the mask keeps, for images also over the pixels.

    Attributes
    ----------
    feature_axis : int
        As given. If none was, 1, until a network that fits the normalizer sets it to
        the axis that its data formats say.
    is_axis_given : bool
        Whether that is settled, by an option or by what was learnt elsewhere.
    """

    drops_masked_steps: ClassVar[bool] = True

    def __init__(
        self, *, feature_axis: int | None = None, fit_label: bool = False
    ) -> None:
        self.is_axis_given = feature_axis is not None
        axis = 1 if feature_axis is None else feature_axis
        check_one_of(type(self).__name__, "feature_axis", axis, (1, -1))
        super().__init__(feature_axis=axis, fit_label=fit_label)
        self._learned: dict[Group, StatsByIndex] | None = None

    @abstractmethod
    def strategy(self, group: Group, index: int) -> NormalizerStrategy | None:
        """Return the strategy of an input or output; None if it is not normalized.

        Parameters
        ----------
        group : {"features", "labels"}
        index : int
            Of the input or output.
        """

    @property
    def is_fitted(self) -> bool:
        """Whether its statistics are learnt."""
        return self._learned is not None

    @property
    def settled_axis(self) -> int | None:
        """The axis of the features; None while a network may still choose it."""
        is_open = not (self.is_axis_given or self.is_fitted)
        return None if is_open else self.feature_axis

    @property
    def needs_labels(self) -> bool:
        """Whether it learns from labels, too."""
        return self.is_fit_label

    def changes_labels(self, index: int) -> bool:
        """Say whether the labels of the output of this number are normalized."""
        return self.strategy("labels", index) is not None

    def learned(self, group: Group) -> StatsByIndex:
        """Return the statistics of the inputs (features) or outputs (labels).

        Raises
        ------
        OptionError
            Before `fit`.
        """
        if self._learned is None:
            raise OptionError(
                f"{type(self).__name__}: must be fitted before it is used. Call fit."
            )
        return self._learned[group]

    def learn(self: N, features: StatsByIndex, labels: StatsByIndex | None = None) -> N:
        """Take statistics that were learnt elsewhere, such as those that DL4J saved.

        Parameters
        ----------
        features, labels : mapping of int to DistributionStats or MinMaxStats
            By the index of the input or output, of the kinds that the strategies use.

        Returns
        -------
        LearnedNormalizer
            Itself.
        """
        self.is_axis_given = True
        return self._take(features, labels)

    def _take(self: N, features: StatsByIndex, labels: StatsByIndex | None) -> N:
        groups: dict[Group, StatsByIndex] = {
            "features": dict(features),
            "labels": dict(labels or {}),
        }
        for group, each in groups.items():
            for index, stats in each.items():
                self._check_kind(group, index, stats)
        self._learned = groups
        return self

    def fit(self: N, data: Examples | Iterable[Examples] | Source) -> N:
        """Learn statistics from data, and forget earlier ones.

        Parameters
        ----------
        data : DataSet, MultiDataSet, pair of arrays, iterable of them, or Source
            The partitions of a source are loaded one after another in this process.

        Returns
        -------
        LearnedNormalizer
            Itself.

        Raises
        ------
        DataError
            If there are no examples, or no labels although they are normalized.
        ShapeError
            If examples differ in their number of inputs, outputs or features.
        """
        who = f"{type(self).__name__}.fit"
        merged: dict[Group, tuple[FeatureStatistics, ...]] | None = None
        for given in _each(data):
            examples = as_examples(who, given)
            found = self._statistics(MultiDataSet.of(examples))
            merged = (
                found
                if merged is None
                else {
                    group: merge_statistics(who, _INPUTS[group], merged[group], each)
                    for group, each in found.items()
                }
            )
        if merged is None:
            return self.fit_statistics(())
        return self.fit_statistics(merged["features"], merged["labels"])

    def fit_statistics(
        self: N,
        statistics: Sequence[FeatureStatistics],
        label_statistics: Sequence[FeatureStatistics] = (),
    ) -> N:
        """Learn from statistics that were collected elsewhere, such as by a scan.

        Parameters
        ----------
        statistics, label_statistics : sequence of FeatureStatistics
            One an input, and one an output if labels are normalized.

        Returns
        -------
        LearnedNormalizer
            Itself.

        Raises
        ------
        DataError
            If nothing was seen, or no labels although they are normalized.
        """
        if not statistics:
            raise self._nothing_seen("features")
        if self.needs_labels and not label_statistics:
            raise self._nothing_seen("labels")
        self._warn_of_rounding("features", statistics)
        self._warn_of_rounding("labels", label_statistics)
        return self._take(
            self._learn_each("features", statistics),
            self._learn_each("labels", label_statistics),
        )

    def _warn_of_rounding(
        self, group: Group, statistics: Sequence[FeatureStatistics]
    ) -> None:
        for number, one in enumerate(statistics):
            coarse = one.coarse()
            if not len(coarse):
                continue
            low, high = one.minimum[coarse[0]], one.maximum[coarse[0]]
            step = np.spacing(np.float32(max(abs(low), abs(high))))
            logger.warning(
                "%s: %s must not be rounded before they are normalized, %d of %s %d "
                "may be. Column %d lies from %.10g to %.10g, where float32 tells "
                "numbers %.3g apart: give the network dtype float64, or subtract a "
                "constant before.",
                *(type(self).__name__, group, len(coarse), _INPUTS[group][:-1], number),
                *(coarse[0], low, high, step),
            )

    def _statistics(
        self, examples: MultiDataSet
    ) -> dict[Group, tuple[FeatureStatistics, ...]]:
        axis = self.feature_axis
        labels = examples.labels if self.needs_labels else []
        masks = examples.labels_masks if labels else None
        return {
            "features": statistics_of(
                examples.features, examples.features_masks, feature_axis=axis
            ),
            "labels": statistics_of(labels, masks, feature_axis=axis),
        }

    def _learn_each(
        self, group: Group, statistics: Sequence[FeatureStatistics]
    ) -> dict[int, NormalizerStats]:
        learned = {}
        for index, found in enumerate(statistics):
            strategy = self.strategy(group, index)
            if strategy is None:
                continue
            if not found.count:
                raise self._nothing_seen(group)
            learned[index] = strategy.learn(found)
        return learned

    def _nothing_seen(self, group: Group) -> DataError:
        what = "example" if group == "features" else "label"
        return DataError(
            f"{type(self).__name__}.fit: data must hold at least one {what} that "
            "counts, got none."
        )

    def _check_kind(self, group: Group, index: int, stats: NormalizerStats) -> None:
        strategy = self.strategy(group, index)
        if strategy is None or strategy.kind != stats.kind:
            raise OptionError(
                f"{type(self).__name__}: what was learnt of {group} {index} must be of "
                f"kind {strategy.kind if strategy else None!r}, got {stats.kind!r}."
            )

    def _check_number(self, who: str, group: Group, n_arrays: int) -> None:
        n_learned = len(self.learned(group))
        if n_arrays != n_learned:
            raise ShapeError(
                f"{who}: examples must have the {n_learned} {_INPUTS[group]} that were "
                f"fitted, got {n_arrays}."
            )

    def _scalers(self, who: str, group: Group, n_arrays: int) -> list[Scaler | None]:
        learned = self.learned(group)
        if group == "labels" and not self.needs_labels:
            return [None] * n_arrays
        self._check_number(who, group, n_arrays)
        return [self._scaler(group, index, learned) for index in range(n_arrays)]

    def _scaler(self, group: Group, index: int, learned: StatsByIndex) -> Scaler | None:
        strategy = self.strategy(group, index)
        if strategy is None or index not in learned:
            return None
        return FeatureScaler(strategy, learned[index], self.feature_axis)


def _each(data: Any) -> Iterable[Any]:
    if isinstance(data, DataSet | MultiDataSet) or is_pair(data):
        return [data]
    if isinstance(data, Source):
        return (one for part in data.partitions for one in part.load_blocks())
    if is_array(data):
        return [DataSet(data)]
    each: Iterable[Any] = data
    return each
