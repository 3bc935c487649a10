"""When a fit on a cluster stands still within an epoch to bring the network. Pure."""

import math
from collections import deque

from daskdl.cluster.usual_cost import UsualCost

# While nobody went: so much is trained again at most if all go at once, unless that
# costs more of the time than this share.
CALM_S = 60.0
CALM_SHARE = 0.02
# And where members go: members are asked for nothing more often.
LEAST_S = 2.0
# Workers that are taken away together are noticed within that time of one another.
TOGETHER_S = 2.0
# So many losses tell how long members live here now.
_REMEMBERED = 4


class StandstillRule:
    """Weighs what a standstill costs against what would have to be trained again.

    Once members were lost, time passes between two snapshots as Young found it best:
    ``sqrt(2 * cost * time between two losses)``. What was timed once may be an
    exception then, of a moment in which others start, and counts as nothing.

    Parameters
    ----------
    start_s : float
        When the fit began. All times are on one clock that only grows.

    References
    ----------
    John W. Young, A first order approximation to the optimum checkpoint interval,
    Communications of the ACM 17(9), 1974, equation 1. We take the mean over the last
    losses for the time between two, and any loss for one of all, since those of a pool
    that is taken away come one by one or together as it happens.
    """

    def __init__(self, start_s: float) -> None:
        self._losses = deque([start_s], _REMEMBERED)
        self._trains_s = start_s
        self._stood_s: float | None = None
        self._cost = UsualCost()
        self._is_new = False  # of members

    def lost(self, now_s: float) -> None:
        """Note that a member went."""
        is_first = len(self._losses) == 1  # behind the start, which is none
        if is_first or now_s - self._losses[-1] > TOGETHER_S:
            self._losses.append(now_s)

    def brought(self, now_s: float) -> None:
        """Note that the network is at the client as it is."""
        self._trains_s = now_s

    def stood(self, since_s: float) -> None:
        """Note that members stood still, the first of them from then on."""
        self._stood_s = since_s

    def trained(self, now_s: float) -> None:
        """Note that a member has trained; the first time that ends a standstill."""
        if self._stood_s is not None:
            self._cost.timed(now_s - self._stood_s)
            self._stood_s, self._is_new = None, False

    def went_back(self, now_s: float) -> None:
        """Note that new members begin with the network that the client has.

        They stand still as soon as they may: the last ones did not live to do so.
        """
        self._trains_s, self._stood_s, self._is_new = now_s, None, True

    def is_due(self, now_s: float) -> bool:
        """Return whether the network is to be brought."""
        calm_s = max(CALM_S, self._cost.usual_s / CALM_SHARE)
        cost_s = 0.0 if self._is_new else self._cost.confirmed_s
        limit_s = min(calm_s, self._between_s(now_s, cost_s))
        return now_s - self._trains_s >= limit_s

    def pays_at_end(self, now_s: float, cost: UsualCost) -> bool:
        """Return whether it pays where members stand anyway, once some were lost.

        Parameters
        ----------
        now_s : float
        cost : UsualCost
            Of a snapshot alone.
        """
        limit_s = self._between_s(now_s, cost.confirmed_s)
        return now_s - self._trains_s >= limit_s

    def _between_s(self, now_s: float, cost_s: float) -> float:
        """Return what Young found; infinite while nobody went."""
        n_losses = len(self._losses) - 1
        if not n_losses:
            return math.inf
        mean_s = (now_s - self._losses[0]) / n_losses
        return max(LEAST_S, math.sqrt(2 * cost_s * mean_s))
