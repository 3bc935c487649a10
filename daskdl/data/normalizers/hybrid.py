"""A normalizer with a strategy of its own for each input and output."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from daskdl.data.normalizers.learned import LearnedNormalizer, StatsByIndex
from daskdl.data.normalizers.normalizer import Group
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.normalizers.stats import stats_from_dict, stats_to_dict
from daskdl.data.normalizers.strategies import (
    MinMaxStrategy,
    NormalizerStrategy,
    StandardizeStrategy,
    strategy_from_dict,
)
from daskdl.errors import FormatError, OptionError

__all__ = ["MultiNormalizerHybrid"]

_Strategies: TypeAlias = dict[int, NormalizerStrategy]

_SIDES: Mapping[Group, str] = {"features": "input", "labels": "output"}


class MultiNormalizerHybrid(LearnedNormalizer):
    """Normalizes each input and output as it is told, or not at all.

    A strategy for one input goes before the one for all inputs; likewise outputs. The
    methods that choose return the normalizer, so that they can be chained.

    Parameters
    ----------
    feature_axis : int, optional
        1 for rows and for DL4J's data formats NCW and NCHW, -1 for NWC and NHWC. If not
        given, a network that fits the normalizer takes that of its data formats; a fit
        without a network takes 1.

    References
    ----------
    ``MultiNormalizerHybrid`` of Deeplearning4j 1.0.0-M2.1.

    Examples
    --------
    >>> normalizer = MultiNormalizerHybrid().standardize_all_inputs()
    >>> normalizer.min_max_scale_input(1, -1.0, 1.0).strategy("features", 1)
    MinMaxStrategy(min_range=-1.0, max_range=1.0)
    """

    kind: ClassVar[str] = "multi_hybrid"

    def __init__(self, *, feature_axis: int | None = None) -> None:
        super().__init__(feature_axis=feature_axis)
        self.global_strategies: dict[Group, NormalizerStrategy | None] = {
            "features": None,
            "labels": None,
        }
        self.own_strategies: dict[Group, _Strategies] = {"features": {}, "labels": {}}

    def standardize_all_inputs(self) -> "MultiNormalizerHybrid":
        """Standardize every input that has no strategy of its own."""
        return self.choose("features", StandardizeStrategy())

    def standardize_all_outputs(self) -> "MultiNormalizerHybrid":
        """Standardize every output that has no strategy of its own."""
        return self.choose("labels", StandardizeStrategy())

    def standardize_input(self, index: int) -> "MultiNormalizerHybrid":
        """Standardize one input."""
        return self.choose("features", StandardizeStrategy(), index)

    def standardize_output(self, index: int) -> "MultiNormalizerHybrid":
        """Standardize one output."""
        return self.choose("labels", StandardizeStrategy(), index)

    def min_max_scale_all_inputs(
        self, range_from: float = 0.0, range_to: float = 1.0
    ) -> "MultiNormalizerHybrid":
        """Bring every input that has no strategy of its own into a range."""
        return self.choose("features", MinMaxStrategy(range_from, range_to))

    def min_max_scale_all_outputs(
        self, range_from: float = 0.0, range_to: float = 1.0
    ) -> "MultiNormalizerHybrid":
        """Bring every output that has no strategy of its own into a range."""
        return self.choose("labels", MinMaxStrategy(range_from, range_to))

    def min_max_scale_input(
        self, index: int, range_from: float = 0.0, range_to: float = 1.0
    ) -> "MultiNormalizerHybrid":
        """Bring one input into a range."""
        return self.choose("features", MinMaxStrategy(range_from, range_to), index)

    def min_max_scale_output(
        self, index: int, range_from: float = 0.0, range_to: float = 1.0
    ) -> "MultiNormalizerHybrid":
        """Bring one output into a range."""
        return self.choose("labels", MinMaxStrategy(range_from, range_to), index)

    def choose(
        self,
        group: Group,
        strategy: NormalizerStrategy | None,
        index: int | None = None,
    ) -> "MultiNormalizerHybrid":
        """Choose a strategy for one input or output, or for all.

        Parameters
        ----------
        group : {"features", "labels"}
        strategy : NormalizerStrategy or None
            None for all only: no normalization but by strategies of their own.
        index : int, optional
            None for all.
        """
        if index is None:
            self.global_strategies[group] = strategy
        elif strategy is None or index < 0:
            raise OptionError(
                "MultiNormalizerHybrid: an index >= 0 must come with a strategy, got "
                f"{index!r} and {strategy!r}."
            )
        else:
            self.own_strategies[group][index] = strategy
        return self

    @property
    def is_fit_label(self) -> bool:
        """Whether any output has a strategy."""
        return bool(self.global_strategies["labels"] or self.own_strategies["labels"])

    def fit_label(self, fit_label: bool = True) -> "MultiNormalizerHybrid":
        """Refuse: whether labels are normalized is chosen output by output."""
        raise OptionError(
            "MultiNormalizerHybrid: outputs must be chosen one by one or all, as by "
            f"standardize_all_outputs, got fit_label({fit_label})."
        )

    def without_labels(self) -> "MultiNormalizerHybrid":
        """Return a copy that changes features alike, and leaves labels alone."""
        made = MultiNormalizerHybrid(feature_axis=self.settled_axis)
        made.global_strategies["features"] = self.global_strategies["features"]
        made.own_strategies["features"] = dict(self.own_strategies["features"])
        return made.learn(self.learned("features")) if self.is_fitted else made

    def strategy(self, group: Group, index: int) -> NormalizerStrategy | None:
        """Return the strategy of its own, or else the one for all."""
        own = self.own_strategies[group].get(index)
        return own if own is not None else self.global_strategies[group]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        values: dict[str, Any] = {"type": self.kind, "feature_axis": self.settled_axis}
        for group, side in _SIDES.items():
            for_all = self.global_strategies[group]
            if for_all is not None:
                values[f"global_{side}_strategy"] = for_all.to_dict()
            values[f"per_{side}_strategies"] = {
                str(index): own.to_dict()
                for index, own in self.own_strategies[group].items()
            }
            if self.is_fitted:
                values[f"{side}_stats"] = {
                    str(index): stats_to_dict(stats)
                    for index, stats in self.learned(group).items()
                }
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "MultiNormalizerHybrid":
        """Return the normalizer that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        """
        who = cls.__name__
        check_kind(who, values, cls.kind)
        forms = ("global_{}_strategy", "per_{}_strategies", "{}_stats")
        names = [form.format(side) for side in _SIDES.values() for form in forms]
        check_keys(who, values, ["feature_axis", *names])
        made = cls(feature_axis=values.get("feature_axis"))
        learned: dict[Group, StatsByIndex | None] = {}
        for group, side in _SIDES.items():
            for_all = strategy_from_dict(who, values.get(f"global_{side}_strategy"))
            made.choose(group, for_all)
            own = _by_index(who, values.get(f"per_{side}_strategies", {}))
            for index, value in own.items():
                made.choose(group, strategy_from_dict(who, value), index)
            stats = values.get(f"{side}_stats")
            learned[group] = stats and {
                index: stats_from_dict(who, value)
                for index, value in _by_index(who, stats).items()
            }
        features = learned["features"]
        if features is None and learned["labels"] is None:
            return made
        return made.learn(features or {}, learned["labels"])

    def _check_number(self, who: str, group: Group, n_arrays: int) -> None:
        """Take any number: which inputs there are was not learnt."""


def _by_index(who: str, values: Any) -> dict[int, Any]:
    is_mapping = isinstance(values, dict)
    if not is_mapping or not all(str(index).isdecimal() for index in values):
        raise FormatError(
            f"{who}.from_dict: strategies and statistics must be mappings from the "
            f"index of an input or output, got {values!r}."
        )
    return {int(index): value for index, value in values.items()}
