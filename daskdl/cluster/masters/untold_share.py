"""How much of a residual lies where next to nothing of what was learned was told.

Pure. A residual is what rounding leaves, half a threshold at most and 0 in the mean,
where an element has been told of; else it is all that a member has learned there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray

# Enough for a share, and nothing beside the passes that end a phase.
_SAMPLE = 2**16


class UntoldShare:
    """Compare residuals with what all have told since one was told as a whole.

    Parameters
    ----------
    size : int
        Length of the vectors.
    """

    def __init__(self, size: int) -> None:
        # Odd, so that it does not stay within one column of a layer of 2**k units.
        self._step = size // _SAMPLE | 1
        self._before: FloatArray | None = None

    def begin(self, base: FloatArray) -> None:
        """Compare from now on with a base, (size,), of which a sample is copied."""
        self._before = base[:: self._step].copy()

    def state_dict(self) -> dict[str, Any]:
        """Return what is compared with; nothing before that is known."""
        return {} if self._before is None else {"before": self._before.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`."""
        self._before = state.get("before")

    def of(self, base: FloatArray, params: FloatArray) -> float:
        """Return the share of a residual that is no less than what was told there.

        Parameters
        ----------
        base, params : ndarray of shape (size,)
            What all know, and what a member has: the residual is their difference.

        Returns
        -------
        share : float
            From 0 to 1, that of its elements or, if it is more, of their magnitudes:
            rows of an embedding are many and move little, beside few layers that move
            much. 0 where there is no residual.
        """
        if self._before is None:
            return 0.0
        now = base[:: self._step]
        left = np.abs(now - params[:: self._step])
        is_behind = (left > 0) & (left >= np.abs(now - self._before))
        total = float(left.sum(dtype=np.float64))
        if not total > 0:
            # What is not finite is found where it is sent.
            return 0.0
        of_elements = np.count_nonzero(is_behind) / np.count_nonzero(left)
        return max(of_elements, float(left[is_behind].sum(dtype=np.float64)) / total)
