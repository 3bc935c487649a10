"""The last network that the client has: from there a fit goes on when all workers went.

Pure but for the clock.
"""

import time
from dataclasses import dataclass

from daskdl.cluster.standstill_rule import StandstillRule
from daskdl.cluster.usual_cost import UsualCost
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting.run_state import RunPosition
from daskdl.training.state import NetworkState

# Of the time of a fit, for snapshots that nobody else asked for.
SHARE = 0.02
# To one network. Fits that kill their workers would go on for ever; those whose workers
# are killed by others end an epoch some time.
MOST_RETURNS = 50
# Of these, after workers whose memory was nearly full: others will fare no better.
MOST_FULL_RETURNS = 5
# Of these, in a row, if nobody trained a minibatch: then the network is too large. Once
# it may be what others had left in the memory of workers, which new ones do not have.
MOST_VAIN_RETURNS = 2


class NobodyLeftError(WorkerLostError):
    """No member is left. The fit goes on if others come."""


@dataclass(frozen=True)
class Standing:
    """Where training stands, and what it has trained of an epoch that is not whole.

    Parameters
    ----------
    position : RunPosition
    examples, score_sum : int, float
        Of that epoch, and the sum of their scores.
    """

    position: RunPosition
    examples: int = 0
    score_sum: float = 0.0


class KeptNetwork:
    """A network at a standstill, and what was trained until then.

    Parameters
    ----------
    state : NetworkState
        Where the fit starts.
    standing : Standing
        Likewise.

    Attributes
    ----------
    state : NetworkState
        Its ``epoch_count`` is that of the epoch which comes next, or goes on.
    standing : Standing
    examples : int
        Trained in this fit until then, those included that were trained in vain.
    cost : UsualCost
        Of a snapshot.
    """

    def __init__(self, state: NetworkState, standing: Standing) -> None:
        self.state = state
        self.standing = standing
        self.examples = 0
        self._kept_s = time.monotonic()
        self.cost = UsualCost()
        self._is_from_before = False
        self._returns = 0
        self._full_returns = 0
        self._vain_returns = 0

    @property
    def is_in_vain(self) -> bool:
        """Whether memory alone ends the members, before any of them has trained."""
        return self._vain_returns > MOST_VAIN_RETURNS

    @property
    def is_for_memory(self) -> bool:
        """Whether the fit ends as memory ends the members, whatever they trained."""
        return self.is_in_vain or self._full_returns > MOST_FULL_RETURNS

    def keep(
        self, state: NetworkState, standing: Standing, examples: int, cost_s: float
    ) -> None:
        """Take over a snapshot that took `cost_s`."""
        self.state, self.standing, self.examples = state, standing, examples
        self._kept_s, self._is_from_before = time.monotonic(), False
        self.cost.timed(cost_s)
        self._returns = self._full_returns = self._vain_returns = 0

    def is_due(self, rule: StandstillRule | None = None) -> bool:
        """Return whether a snapshot costs little, measured by what may be lost.

        Or by how long members live, as a rule of standstills has noted it.
        """
        now = time.monotonic()
        costs_little = self.cost.usual_s <= SHARE * (now - self._kept_s)
        pays = rule is not None and rule.pays_at_end(now, self.cost)
        return self._is_from_before or costs_little or pays

    def go_back(
        self, *, is_memory_full: bool = False, has_trained: bool = True
    ) -> bool:
        """Note that the fit goes on from here; False if it did too often.

        Parameters
        ----------
        is_memory_full : bool
            Whether that ended the members, as far as is known.
        has_trained : bool
            Whether they trained a minibatch before.
        """
        self._returns += 1
        self._full_returns += is_memory_full
        is_in_vain = is_memory_full and not has_trained
        self._vain_returns = self._vain_returns + 1 if is_in_vain else 0
        # So that the next epoch is not lost again.
        self._is_from_before = True
        return self._returns <= MOST_RETURNS and not self.is_for_memory
