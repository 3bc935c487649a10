"""Batch normalization in inference: a factor and a shift of each feature."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from daskdl.arrays.namespace import FloatArray


@dataclass(frozen=True)
class Scaling:
    """``x * scale + shift`` of each feature, and a rectifier behind it or none.

    Parameters
    ----------
    scale, shift : ndarray of shape (features,)
    rectifies : bool
        Whether what is below 0 becomes 0.
    """

    scale: FloatArray
    shift: FloatArray
    rectifies: bool


# Asked at each forward pass in inference: parameters may have changed.
ScalingOf: TypeAlias = Callable[[], Scaling]
