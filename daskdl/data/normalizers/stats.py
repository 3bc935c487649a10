"""Statistics of one array for a normalizer: two numbers for each feature.

References
----------
``DistributionStats`` and ``MinMaxStats`` of Deeplearning4j 1.0.0-M2.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import some
from daskdl.errors import FormatError

__all__ = [
    "STATS",
    "DistributionStats",
    "MinMaxStats",
    "NormalizerStats",
    "Vector",
    "stats_from_dict",
    "stats_to_dict",
]

Vector: TypeAlias = NDArray[np.float64]

_DTYPES = ("float16", "float32", "float64")


@dataclass(frozen=True, eq=False)
class DistributionStats:
    """Mean and standard deviation.

    Parameters
    ----------
    mean, std : ndarray of shape (n_features,), float64
    dtype : str
        What DL4J stores them in: that of the data, float32 or float64.
    """

    kind: ClassVar[str] = "standardize"
    names: ClassVar[tuple[str, str]] = ("mean", "std")

    mean: Vector
    std: Vector
    dtype: str = "float32"

    @property
    def pair(self) -> tuple[Vector, Vector]:
        """Both vectors, (n_features,), in the order in which DL4J stores them."""
        return self.mean, self.std


@dataclass(frozen=True, eq=False)
class MinMaxStats:
    """Smallest and largest value; the second is at least 1e-5 more than the first.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features,), float64
    dtype : str
        What DL4J stores them in: that of the data, float32 or float64.
    """

    kind: ClassVar[str] = "min_max"
    names: ClassVar[tuple[str, str]] = ("min", "max")

    lower: Vector
    upper: Vector
    dtype: str = "float32"

    @property
    def pair(self) -> tuple[Vector, Vector]:
        """Both vectors, (n_features,), in the order in which DL4J stores them."""
        return self.lower, self.upper


NormalizerStats: TypeAlias = DistributionStats | MinMaxStats

STATS: Mapping[str, type[DistributionStats] | type[MinMaxStats]] = {
    "standardize": DistributionStats,
    "min_max": MinMaxStats,
}
"""Class of what each strategy learns, by the name of the strategy."""


def stats_to_dict(stats: NormalizerStats) -> dict[str, Any]:
    """Return plain values that JSON can hold, without loss."""
    named = zip(stats.names, stats.pair, strict=True)
    vectors = {name: vector.tolist() for name, vector in named}
    return {"type": stats.kind, **vectors, "dtype": stats.dtype}


def stats_from_dict(who: str, values: Any) -> NormalizerStats:
    """Return the statistics that :func:`stats_to_dict` described.

    Raises
    ------
    FormatError
        If the values do not come from there.
    """
    kind = values.get("type") if isinstance(values, dict) else None
    if not isinstance(kind, str) or kind not in STATS:
        raise FormatError(
            f"{who}: statistics must have a type among {some(STATS)}, got {values!r}."
        )
    dtype = values.get("dtype", "float32")
    if dtype not in _DTYPES:
        raise FormatError(
            f"{who}: dtype of statistics must be one of {some(_DTYPES)}, got {dtype!r}."
        )
    first, second = (_vector(who, values, name) for name in STATS[kind].names)
    if first.shape != second.shape:
        raise FormatError(
            f"{who}: both parts of statistics must have one length, got {len(first)} "
            f"and {len(second)}."
        )
    return STATS[kind](first, second, dtype)


def _vector(who: str, values: dict[str, Any], name: str) -> Vector:
    try:
        vector = np.array(values[name], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{who}: {name} must be a list of numbers.") from error
    if vector.ndim != 1:
        raise FormatError(
            f"{who}: {name} must be a list of numbers, got shape {vector.shape}."
        )
    return vector
