"""How large a residual is beside its threshold: what DL4J's encoding debug mode tells.

Nothing here changes what is sent.
"""

import math
from dataclasses import dataclass

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_host

PERCENTILES = (50, 95, 99, 99.9, 99.99)


@dataclass(frozen=True, kw_only=True)
class ResidualStatistics:
    """A residual as it is about to be encoded, this update included.

    Attributes
    ----------
    length : int
        Elements of the residual.
    threshold : float
        Of the message to come.
    reached : int
        Elements whose magnitude is the threshold or more.
    sparsity : float
        Their share.
    mean, largest : float
        Of the magnitudes.
    percentiles : dict of str to float
        Of the magnitudes, by their names in `PERCENTILES`.
    """

    length: int
    threshold: float
    reached: int
    sparsity: float
    mean: float
    largest: float
    percentiles: dict[str, float]

    def __str__(self) -> str:
        """Return DL4J's line, whose magnitudes are also multiples of the threshold."""
        named = {"amean": self.mean, "amax": self.largest}
        named |= {f"{name}%": value for name, value in self.percentiles.items()}
        told = "; ".join(
            f"{name}: {_text(value)} ({_text(value / self.threshold)}x)"
            for name, value in named.items()
        )
        return (
            f"residual vector: length: {self.length}, threshold: "
            f"{_text(self.threshold)}, count > thr: {self.reached}, sparsity: "
            f"{_text(self.sparsity)}, {told}"
        )


def residual_statistics(residual: FloatArray, threshold: float) -> ResidualStatistics:
    """Return what is to be told of a residual.

    Parameters
    ----------
    residual : ndarray of shape (n,), float32 or float64
        Not changed.
    threshold : float
        Greater than 0.

    Notes
    -----
    Sorts the residual, which takes many times as long as encoding it.

    References
    ----------
    DL4J's EncodingHandler.residualDebugOutputIfRequired, and the percentiles of ND4J:
    at ``p / 100 * (n + 1)``, between the two neighbours. Where we differ: a percentile
    beyond the last element is that element, where ND4J reads past the end.
    """
    sizes = np.sort(np.abs(to_host(residual)))
    reached = int(np.count_nonzero(sizes >= sizes.dtype.type(threshold)))
    return ResidualStatistics(
        length=sizes.size,
        threshold=float(threshold),
        reached=reached,
        sparsity=reached / sizes.size,
        mean=float(sizes.mean(dtype=np.float64)),
        largest=float(sizes[-1]),
        percentiles={f"{each:g}": _percentile(sizes, each) for each in PERCENTILES},
    )


def _percentile(ordered: FloatArray, percent: float) -> float:
    place = percent / 100 * (ordered.size + 1)
    before = math.floor(place)
    lower = float(ordered[max(before, 1) - 1])
    upper = float(ordered[min(before, ordered.size - 1)])
    return lower + (place - before) * (upper - lower)


def _text(value: float) -> str:
    """Return a number as Java's ``0.###`` and ``0.###E0`` have it."""
    if value == 0:
        return "0.0"
    if 0.1 <= abs(value) < 100 or not math.isfinite(value):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{value:.3e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
