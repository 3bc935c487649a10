"""Which of all trials of a search is the best."""

import math
from collections.abc import Sequence

from daskdl.tuning.trial import Trial

__all__ = ["ranked"]


def ranked(trials: Sequence[Trial], *, minimize: bool) -> list[Trial]:
    """Return all trials of a search, the best first.

    Of equal ones that which was trained longer is first, then that which was drawn
    first. Those that diverged, failed or have no score are last.

    Parameters
    ----------
    trials : sequence of Trial
    minimize : bool
        Whether a lower score is better.
    """
    sign = 1 if minimize else -1

    def key(trial: Trial) -> tuple[bool, float, int, int]:
        is_last = trial.is_lost or math.isnan(trial.score)
        score = 0.0 if is_last else sign * trial.score
        return is_last, score, -trial.epochs, trial.number

    return sorted(trials, key=key)
