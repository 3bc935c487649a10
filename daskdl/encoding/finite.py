"""The refusal of updates that no message could carry."""

import math

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import DivergedError


def check_finite(residual: FloatArray) -> None:
    """Refuse a residual with numbers that are not finite.

    Parameters
    ----------
    residual : ndarray of shape (n,), float

    Raises
    ------
    DivergedError
        It names the first of them.
    """
    # One pass that allocates nothing; it may overflow where no number is infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.dot(residual, residual)
    if math.isfinite(square) or np.isfinite(residual).all():
        return
    wrong = int(np.flatnonzero(~np.isfinite(residual))[0])
    raise DivergedError(
        f"GradientSharingPeer: updates must be finite, got {residual[wrong]} for "
        f"parameter {wrong}. Lower the learning rate, clip gradients, or normalize the "
        "features."
    )
