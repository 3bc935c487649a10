"""Scores that stay on a device until somebody reads one of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.source import CudaKernel

_NOTE = CudaKernel(
    "note",
    """
extern "C" __global__ void note(
    const real* score, real* kept, int place, int* held)
{
    kept[place] = *score;
    if (!isfinite(*score)) *held = 1;
}
""",
)
# Of scores that nobody has read. Then all are, in one copy.
_MOST_UNREAD = 256


class LateScore:
    """The score of an iteration, a number that is waited for when it is read.

    ``float(score)`` waits.
    """

    def __init__(self, scores: "LateScores", iteration: int) -> None:
        self._scores, self.iteration = scores, iteration
        self.value = float("nan")
        self.is_read = False

    def __float__(self) -> float:
        if not self.is_read:
            self._scores.read()
        return self.value


class LateScores:
    """The scores of iterations that a device has not been asked for.

    Parameters
    ----------
    like : ndarray of CuPy, float32 or float64
        Of the type of the scores.
    refuse : function of (float, int)
        Refuses a score that is no number, and its iteration.

    Attributes
    ----------
    held : ndarray of CuPy of shape (1,), int32
        Not 0 from the first score that is no number, until that was read: no update is
        made meanwhile, so that parameters stay as they were.
    """

    def __init__(self, like: FloatArray, refuse: Callable[[float, int], None]) -> None:
        cupy = array_namespace(like)
        self._kept: Any = cupy.zeros(_MOST_UNREAD, like.dtype)
        self.held: Any = cupy.zeros(1, np.int32)
        self._refuse = refuse
        self._unread: list[LateScore] = []

    def note(self, score: FloatArray, iteration: int) -> LateScore:
        """Keep a score, an array of shape (), of an iteration; it may be overwritten.

        Raises
        ------
        DivergedError
            If one of those before is no number.
        """
        if len(self._unread) == _MOST_UNREAD:
            self.read()
        late = LateScore(self, iteration)
        _NOTE(1, 1, score, self._kept, len(self._unread), self.held)
        self._unread.append(late)
        return late

    def read(self) -> None:
        """Wait for all scores.

        Raises
        ------
        DivergedError
            If one is no number. Of those behind it nothing was learned.
        """
        unread, self._unread = self._unread, []
        if not unread:
            return
        values = self._kept[: len(unread)].get()
        for late, value in zip(unread, values, strict=True):
            late.value, late.is_read = float(value), True
        for late in unread:
            if not np.isfinite(late.value):
                self.held.fill(0)
                self._refuse(late.value, late.iteration)
