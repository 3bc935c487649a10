"""Strategies that scale one array by its statistics.

What is done is said as steps, so that other programs can be told it too.

References
----------
``StandardizeStrategy`` and ``MinMaxStrategy`` of Deeplearning4j 1.0.0-M2.1.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_between, did_you_mean, some
from daskdl.data.normalizers.stats import (
    DistributionStats,
    MinMaxStats,
    NormalizerStats,
)
from daskdl.data.statistics import FeatureStatistics
from daskdl.errors import FormatError, OptionError

__all__ = [
    "Direction",
    "MinMaxStrategy",
    "NormalizerStrategy",
    "StandardizeStrategy",
    "Step",
    "apply_steps",
    "strategy_from_dict",
]

_Values = NDArray[Any]

Direction: TypeAlias = Literal["transform", "revert"]
Step: TypeAlias = tuple[Literal["subtract", "divide", "multiply", "add"], Any]
"""One operation on every value, and the number or the vector that it needs."""

# DL4J's floor of deviations and ranges.
_LEAST = 1e-5
_MOST = sys.float_info.max


class NormalizerStrategy(ABC):
    """The statistics that are learnt of an array, and its scaling by them.

    Operations and their order are DL4J's, to the last bit.
    """

    kind: ClassVar[str]

    @abstractmethod
    def learn(self, found: FeatureStatistics) -> NormalizerStats:
        """Return the statistics that this strategy scales by."""

    @abstractmethod
    def steps(
        self, direction: Direction, first: _Values, second: _Values
    ) -> list[Step]:
        """Return the operations on values, one after the other.

        Parameters
        ----------
        direction : {"transform", "revert"}
        first, second : ndarray of shape (1, ..., n_features, ..., 1)
            What was learnt, in the dtype of the values and with as many axes.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {"type": self.kind}


@dataclass(frozen=True)
class StandardizeStrategy(NormalizerStrategy):
    """``(x - mean) / std``, with the standard deviation of the population.

    Notes
    -----
    DL4J raises deviations to 1e-5, and the first `transform` replaces those that are
    not larger by 1: features that (hardly) vary are centred, and not scaled.
    """

    kind: ClassVar[str] = "standardize"

    def learn(self, found: FeatureStatistics) -> DistributionStats:
        """Return mean and standard deviation, 1 for features that are not used."""
        # Rounding hides that a feature with large values is constant.
        is_constant = found.minimum == found.maximum
        std = np.where(is_constant, 1.0, _usable(found.std))
        return DistributionStats(found.mean, std, found.dtype)

    def steps(
        self, direction: Direction, first: _Values, second: _Values
    ) -> list[Step]:
        """Return ``(values - mean) / std``, or ``values * std + mean``.

        See :meth:`NormalizerStrategy.steps`.
        """
        if direction == "transform":
            return [("subtract", first), ("divide", _usable(second))]
        return [("multiply", _usable(second)), ("add", first)]


@dataclass(frozen=True)
class MinMaxStrategy(NormalizerStrategy):
    """``(x - lower) / (upper - lower)``, brought to a range.

    Parameters
    ----------
    min_range, max_range : float
        Where the smallest and the largest value seen come to.

    Raises
    ------
    OptionError
        If the range is not at least 1e-5 wide.
    """

    kind: ClassVar[str] = "min_max"

    min_range: float = 0.0
    max_range: float = 1.0

    def __post_init__(self) -> None:
        for option in ("min_range", "max_range"):
            value = getattr(self, option)
            check_between("MinMaxStrategy", option, value, -_MOST, _MOST)
        # A billionth less: DL4J widens ranges to 1e-5, and rounds.
        if self.max_range - self.min_range < _LEAST * (1 - 1e-9):
            raise OptionError(
                "MinMaxStrategy: max_range must be at least min_range + 1e-05, got "
                f"{self.max_range!r} and {self.min_range!r}."
            )

    @property
    def width(self) -> float:
        """Of the range."""
        return self.max_range - self.min_range

    def learn(self, found: FeatureStatistics) -> MinMaxStats:
        """Return the bounds, moved apart where a feature is (nearly) constant."""
        padded = found.minimum + _LEAST
        # In the type of the data, as DL4J does: near 4, 1e-5 is 1.0014e-5 in float32.
        padded = padded.astype(found.dtype).astype(np.float64)
        is_narrow = found.maximum - found.minimum < _LEAST
        upper = np.where(is_narrow, padded, found.maximum)
        return MinMaxStats(found.minimum, upper, found.dtype)

    def steps(
        self, direction: Direction, first: _Values, second: _Values
    ) -> list[Step]:
        """Return the operations that bring values into the range, or back.

        See :meth:`NormalizerStrategy.steps`.
        """
        outside = (first, _between(first, second))
        inside = (self.min_range, self.width)
        came, wanted = (
            (outside, inside) if direction == "transform" else (inside, outside)
        )
        return [
            ("subtract", came[0]),
            ("divide", came[1]),
            ("multiply", wanted[1]),
            ("add", wanted[0]),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "type": self.kind,
            "min_range": self.min_range,
            "max_range": self.max_range,
        }


def apply_steps(values: _Values, steps: list[Step]) -> _Values:
    """Return new values, an array like `values`, that went through the steps."""
    for operation, operand in steps:
        values = getattr(np, operation)(values, operand)
    return values


def strategy_from_dict(who: str, values: Any) -> NormalizerStrategy | None:
    """Return the strategy that ``to_dict`` described; None for None.

    Raises
    ------
    FormatError
        If the values do not come from there.
    """
    if values is None:
        return None
    options = {"type": values} if isinstance(values, str) else values
    kind = options.get("type") if isinstance(options, dict) else None
    known = {"standardize": (), "min_max": ("min_range", "max_range")}
    if not isinstance(kind, str) or kind not in known:
        raise FormatError(
            f"{who}: a strategy must have a type among {some(known)}, got {values!r}."
            f"{did_you_mean(kind, known)}"
        )
    given: dict[str, Any] = {k: v for k, v in options.items() if k != "type"}
    if not given.keys() <= set(known[kind]) or not all(map(_is_number, given.values())):
        raise FormatError(
            f"{who}: a strategy of type {kind!r} must have numbers for "
            f"{some(known[kind]) or 'nothing'}, got {given!r}."
        )
    return StandardizeStrategy() if kind == "standardize" else MinMaxStrategy(**given)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _between(lower: _Values, upper: _Values) -> _Values:
    # 1000 + 1e-5 is 1000 in float32; DL4J then divides 0 by 0.
    width: _Values = np.where(upper > lower, upper - lower, _LEAST)
    return width


def _usable(std: _Values) -> _Values:
    # Why 1 and not 1e-5: see StandardizeStrategy.
    usable: _Values = np.where(std <= _LEAST, 1.0, std)
    return usable
