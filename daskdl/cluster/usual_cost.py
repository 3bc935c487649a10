"""What something costs as a rule, of few times that it was timed. Pure."""

import statistics
from collections import deque

# Of which the middle one counts.
_REMEMBERED = 3


class UsualCost:
    """Tells what something takes from the last times, of which one may be an exception.

    The first snapshot of a fit took 5 s where the next ones took 0.05: workers were
    starting beside it. So one time alone is known, and not yet confirmed.
    """

    def __init__(self) -> None:
        self._times_s: deque[float] = deque(maxlen=_REMEMBERED)

    def timed(self, cost_s: float) -> None:
        """Note what it took once."""
        self._times_s.append(cost_s)

    @property
    def usual_s(self) -> float:
        """The middle one of the last times, of two the shorter; 0 before the first."""
        return statistics.median_low(self._times_s) if self._times_s else 0.0

    @property
    def confirmed_s(self) -> float:
        """The same, but 0 before it was timed twice."""
        return self.usual_s if len(self._times_s) > 1 else 0.0
