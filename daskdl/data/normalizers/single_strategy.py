"""Normalizers that treat all inputs alike, and all outputs if labels are normalized."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from daskdl.data.normalizers.learned import LearnedNormalizer
from daskdl.data.normalizers.normalizer import Group
from daskdl.data.normalizers.options import (
    check_keys,
    check_kind,
    parts_of,
    stats_list,
    stats_values,
)
from daskdl.data.normalizers.stats import Vector
from daskdl.data.normalizers.strategies import NormalizerStrategy
from daskdl.errors import FormatError, OptionError

__all__ = ["SingleStrategyNormalizer"]

U = TypeVar("U", bound="SingleStrategyNormalizer")


class SingleStrategyNormalizer(LearnedNormalizer):
    """One strategy for every input and every output."""

    strategy_kind: ClassVar[str]
    """What the strategy is called."""

    @abstractmethod
    def _one_strategy(self) -> NormalizerStrategy:
        """Return the strategy."""

    @classmethod
    @abstractmethod
    def _of_options(cls: type[U], options: dict[str, Any]) -> U:
        """Make a normalizer of the result of `_options`."""

    def _options(self) -> dict[str, Any]:
        return {"feature_axis": self.settled_axis, "fit_label": self.is_fit_label}

    def strategy(self, group: Group, index: int) -> NormalizerStrategy | None:
        """Return the strategy; None for labels that are not normalized."""
        if group == "labels" and not self.is_fit_label:
            return None
        return self._one_strategy()

    def without_labels(self: U) -> U:
        """Return a copy that changes features alike, and leaves labels alone."""
        made = super().without_labels()
        return made.learn(made.learned("features")) if made.is_fitted else made

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        values: dict[str, Any] = {"type": self.kind, **self._options()}
        if not self.is_fitted:
            return values
        features, labels = self.learned("features"), self.learned("labels")
        return {
            **values,
            **stats_values("", features.values()),
            **stats_values("label_", labels.values()),
        }

    @classmethod
    def from_dict(cls: type[U], values: dict[str, Any]) -> U:
        """Return the normalizer that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        OptionError
            If an option cannot be right.
        """
        check_kind(cls.__name__, values, cls.kind)
        parts = parts_of(cls.strategy_kind)
        defaults = cls._of_options({})._options()
        labels_parts = (f"label_{name}" for name in parts)
        check_keys(cls.__name__, values, [*defaults, *parts, *labels_parts])
        options = {name: values[name] for name in defaults if name in values}
        if not isinstance(options.get("fit_label", False), bool):
            raise FormatError(
                f"{cls.__name__}.from_dict: fit_label must be true or false, got "
                f"{options['fit_label']!r}."
            )
        made = cls._of_options(options)
        features, labels = (
            stats_list(cls.__name__, cls.strategy_kind, values, prefix)
            for prefix in ("", "label_")
        )
        if features is None:
            return made
        if not features or made.is_fit_label != bool(labels):
            raise FormatError(
                f"{cls.__name__}.from_dict: there must be vectors for features, and "
                f"for labels where fit_label is true, got {len(features)} and "
                f"{len(labels or ())}."
            )
        return made.learn(dict(enumerate(features)), dict(enumerate(labels or ())))

    def _vectors(self, group: Group, part: int) -> tuple[Vector, ...]:
        if not self.is_fitted:
            return ()
        return tuple(stats.pair[part] for stats in self.learned(group).values())

    def _vector(self, group: Group, part: int) -> Vector:
        learned = self.learned(group)
        if not learned:
            raise OptionError(
                f"{type(self).__name__}: labels must be fitted before they are asked "
                "for. Call fit_label, then fit."
            )
        return learned[0].pair[part]
