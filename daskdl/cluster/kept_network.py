"""The last network that the client has: from there a fit goes on when all workers went.

Pure but for the clock.
"""

import time

from daskdl.errors import WorkerLostError
from daskdl.training.state import NetworkState

# Of the time of a fit, for snapshots that nobody else asked for.
SHARE = 0.02
# Fits that kill their workers, because they need too much memory, would go on for ever.
MOST_RETURNS = 10


class NobodyLeftError(WorkerLostError):
    """No member is left. The fit goes on if others come."""


class KeptNetwork:
    """A network at the end of an epoch, and what was trained until then.

    Parameters
    ----------
    state : NetworkState
        Where the fit starts.

    Attributes
    ----------
    state : NetworkState
        Its ``epoch_count`` is that of the epoch which comes next.
    examples : int
        Trained in this fit until then, those included that were trained in vain.
    """

    def __init__(self, state: NetworkState) -> None:
        self.state = state
        self.examples = 0
        self._kept_s = time.monotonic()
        self._cost_s = 0.0
        self._returns = 0

    def keep(self, state: NetworkState, examples: int, cost_s: float) -> None:
        """Take over a snapshot that took `cost_s`."""
        self.state, self.examples = state, examples
        self._kept_s, self._cost_s = time.monotonic(), cost_s
        self._returns = 0

    def is_due(self) -> bool:
        """Return whether a snapshot costs little, measured by what may be lost."""
        return self._cost_s <= SHARE * (time.monotonic() - self._kept_s)

    def go_back(self) -> bool:
        """Note that the fit goes on from here; False if it did too often."""
        self._returns += 1
        # So that the next epoch is not lost again.
        self._cost_s = 0.0
        return self._returns <= MOST_RETURNS
