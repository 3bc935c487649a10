"""Distributions that the parameters of trials are drawn from.

One is anything that draws by ``rvs(random_state=generator)``: those here, and the
frozen distributions of ``scipy.stats``.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import default_rng

from daskdl.checks import check_between, check_positive, check_type, check_whole
from daskdl.errors import OptionError

__all__ = [
    "Choice",
    "Distribution",
    "IntegerUniform",
    "LogUniform",
    "Uniform",
    "check_distributions",
    "draw_parameters",
    "in_words",
]

RandomState: TypeAlias = np.random.Generator | int
"""What draws, or a seed of that."""

# What JSON gives back as it was.
_PLAIN = (str, bool, int, float, type(None))
# What NumPy draws whole numbers from.
_WHOLE = (-(2**63), 2**63 - 1)


@runtime_checkable
class Distribution(Protocol):
    """What values can be drawn from."""

    def rvs(self, *, random_state: Any) -> Any:
        """Return one value, drawn with a ``numpy.random.Generator``."""


@dataclass(frozen=True)
class Uniform:
    """Numbers from `low` to `high`, all equally likely.

    Parameters
    ----------
    low, high : float

    References
    ----------
    DL4J Arbiter, ``ContinuousParameterSpace``.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_ends("Uniform", self.low, self.high)

    def rvs(self, *, random_state: RandomState) -> float:
        """Return one value.

        Parameters
        ----------
        random_state : numpy.random.Generator or int
        """
        generator = default_rng(random_state)
        return float(generator.uniform(float(self.low), float(self.high)))


@dataclass(frozen=True)
class LogUniform:
    """Positive numbers whose logarithm is uniform: for what spans powers of ten.

    Parameters
    ----------
    low, high : float
        Greater than 0.

    References
    ----------
    Bergstra, Bengio: Random Search for Hyper-Parameter Optimization (2012), section
    2.3, "drawn exponentially".
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_positive("LogUniform", "low", self.low)
        _check_ends("LogUniform", self.low, self.high)

    def rvs(self, *, random_state: RandomState) -> float:
        """Return one value.

        Parameters
        ----------
        random_state : numpy.random.Generator or int
        """
        generator = default_rng(random_state)
        drawn = generator.uniform(math.log(self.low), math.log(self.high))
        return float(math.exp(drawn))


@dataclass(frozen=True)
class IntegerUniform:
    """Whole numbers from `low` to `high`, both of them included.

    Parameters
    ----------
    low, high : int

    References
    ----------
    DL4J Arbiter, ``IntegerParameterSpace``.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_whole("IntegerUniform", name, abs(_number(self, name)))
            check_between("IntegerUniform", name, getattr(self, name), *_WHOLE)
        _check_ends("IntegerUniform", self.low, self.high)

    def rvs(self, *, random_state: RandomState) -> int:
        """Return one value.

        Parameters
        ----------
        random_state : numpy.random.Generator or int
        """
        generator = default_rng(random_state)
        return int(generator.integers(self.low, self.high, endpoint=True))


@dataclass(frozen=True)
class Choice:
    """One of several values, all equally likely.

    Parameters
    ----------
    values : sequence of str, int, float, bool or None
        Plain values, which the files of a search hold. For other things give names, and
        have the function that builds the network look them up.

    References
    ----------
    DL4J Arbiter, ``DiscreteParameterSpace``.
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        check_type("Choice", "values", self.values, list, tuple)
        plain = tuple(map(_of_numpy, self.values))
        object.__setattr__(self, "values", plain)
        if not self.values:
            raise OptionError("Choice: values must be at least one, got none.")
        for value in self.values:
            if not isinstance(value, _PLAIN):
                raise OptionError(
                    "Choice: values must be texts, numbers, booleans or None, got a "
                    f"{type(value).__name__}. Give names, and have the function that "
                    "builds the network look them up."
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise OptionError(f"Choice: values must be finite, got {value!r}.")

    def rvs(self, *, random_state: RandomState) -> Any:
        """Return one value.

        Parameters
        ----------
        random_state : numpy.random.Generator or int
        """
        generator = default_rng(random_state)
        return self.values[int(generator.integers(len(self.values)))]


def check_distributions(who: str, given: Any) -> dict[str, Distribution]:
    """Return distributions by the names of parameters.

    Raises
    ------
    OptionError
        If they are no mapping of names to distributions, or there is none.
    """
    check_type(who, "distributions", given, Mapping)
    if not given:
        raise OptionError(
            f"{who}: distributions must be of at least one parameter, got none."
        )
    for name, distribution in given.items():
        check_type(who, "the name of a parameter", name, str)
        if isinstance(distribution, type) or not isinstance(distribution, Distribution):
            raise OptionError(
                f"{who}: distributions[{name!r}] must draw by rvs(random_state=...), "
                f"got {distribution!r}. Use those of daskdl.tuning, such as "
                "Choice([...]), or frozen ones of scipy.stats."
            )
    return dict(given)


def draw_parameters(
    who: str, distributions: Mapping[str, Distribution], seed: int, number: int
) -> dict[str, Any]:
    """Return the parameters of a trial: the same, whatever other trials there are.

    Parameters
    ----------
    who : str
        For messages.
    distributions : mapping of str to Distribution
        Drawn from in their order.
    seed : int
        Of the search.
    number : int
        Of the trial.

    Returns
    -------
    dict of str to (str, int, float, bool or None)
        NumPy's numbers as Python's.

    Raises
    ------
    OptionError
        If a distribution draws something else.
    """
    generator = np.random.default_rng([seed, number])
    return {
        name: _plain(who, name, one.rvs(random_state=generator))
        for name, one in distributions.items()
    }


def in_words(distribution: Distribution) -> str:
    """Return a distribution with its options, the same in every process."""
    frozen: Any = distribution
    if hasattr(frozen, "dist"):
        # Of scipy, whose own text is an address.
        return f"{frozen.dist.name}{frozen.args}{frozen.kwds}"
    if type(distribution).__repr__ is object.__repr__:
        return type(distribution).__name__
    return repr(distribution)


def _plain(who: str, name: str, value: Any) -> Any:
    value = _of_numpy(value)
    if not isinstance(value, _PLAIN):
        raise OptionError(
            f"{who}: distributions[{name!r}] must draw a text or a number, got "
            f"{value!r}."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(
            f"{who}: distributions[{name!r}] must draw finite numbers, got {value!r}."
        )
    return value


def _of_numpy(value: Any) -> Any:
    """Return a number of NumPy as Python's, and anything else as it is."""
    is_one = isinstance(value, np.ndarray) and value.size == 1
    return value.item() if is_one or isinstance(value, np.generic) else value


def _number(of: Any, name: str) -> Any:
    value = getattr(of, name)
    check_type(type(of).__name__, name, value, int, np.integer)
    return value


def _check_ends(who: str, low: float, high: float) -> None:
    for name, value in (("low", low), ("high", high)):
        check_type(who, name, value, int, float, np.number)
        # A whole number may be too large for a float.
        if not abs(value) <= sys.float_info.max:
            raise OptionError(f"{who}: {name} must be finite, got {value!r}.")
    if not low < high:
        raise OptionError(f"{who}: low must be < high, got {low!r} and {high!r}.")
    if not math.isfinite(float(high) - float(low)):
        raise OptionError(
            f"{who}: low and high must be no more than {sys.float_info.max:g} apart, "
            f"got {low!r} and {high!r}."
        )
