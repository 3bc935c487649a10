"""Whether the network that a fit of gradient sharing returns has learned what was told.

The scores that a fit tells are those of its members, each with parameters of its own.
What is returned is what all have in common, without their residuals.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device
from daskdl.nn.batches import Batch
from daskdl.nn.network import Network

# Of what members have learned, and of their score: rounding to the nearest threshold
# costs less.
LOST = 0.5


@dataclass(frozen=True, kw_only=True)
class LastScores:
    """What a member found before it returned, of one minibatch.

    Attributes
    ----------
    first : float
        The score of the first minibatch that it trained.
    own, returned : float
        Those of a minibatch of its last phase, in inference mode: with its own
        parameters, and with what is returned.
    """

    first: float
    own: float
    returned: float


class ScoreKeeper:
    """A member's first score, and a minibatch of its last phase to compare with."""

    def __init__(self) -> None:
        self._first = math.nan
        self._batch: Batch | None = None
        self._is_due = False

    def begin_phase(self, *, is_wanted: bool) -> None:
        """Keep the next minibatch, if that is wanted."""
        self._is_due = is_wanted

    def take(self, batch: Batch, score: float) -> None:
        """Note a minibatch that was trained, if it is the first one of a phase."""
        if not self._is_due:
            return
        self._is_due = False
        if math.isnan(self._first):
            self._first = float(score)
        # Not views: they would hold a whole partition in memory.
        self._batch = batch.take(np.arange(batch.num_examples))

    def compare(
        self, network: Network[Any], untold: FloatArray | None
    ) -> LastScores | None:
        """Return the scores of the minibatch; None where there is nothing to compare.

        Parameters
        ----------
        network : Network
            Between two phases: with the parameters that all have in common. They are
            changed for a moment.
        untold : ndarray of shape (n_params,), or None
            The member's residual, which its own parameters lack of them.
        """
        if self._batch is None or untold is None or not untold.any():
            return None
        params = network.params
        common = params.copy()
        returned = network.compute_score(self._batch)
        params -= to_device(untold, params)
        own = network.compute_score(self._batch)
        params[...] = common
        return LastScores(first=self._first, own=own, returned=returned)


class ScoreComparison:
    """The driver's side: what all members found, and whether it is to be warned of."""

    def __init__(self) -> None:
        self._found: list[LastScores] = []

    def take(self, told: Mapping[str, float] | None) -> None:
        """Take in what a member found, if it compared."""
        if told is not None:
            self._found.append(LastScores(**told))

    def warning(self, threshold: float) -> str | None:
        """Return what to say of a network that lacks what members have learned.

        Parameters
        ----------
        threshold : float
            With which the last messages were made.
        """
        if not self._found:
            return None
        own, returned = (
            math.fsum(getattr(each, name) for each in self._found) / len(self._found)
            for name in ("own", "returned")
        )
        first = max(each.first for each in self._found)
        if not is_short_of(LastScores(first=first, own=own, returned=returned)):
            return None
        return (
            "Session: the network that is returned must have learned what the workers "
            f"have, its score on some of their minibatches is {returned:.4g} and "
            f"theirs {own:.4g}: most of what they learned never reached the threshold "
            f"{threshold:.3g}, and was not shared. Leave the threshold to be read off "
            "the updates, give a lower one (updates_threshold), or use "
            "AllReduceTrainingMaster."
        )


def is_short_of(scores: LastScores) -> bool:
    """Whether more than noise lies between what members have and what is returned."""
    lost = scores.returned - scores.own
    return lost > LOST * max(scores.first - scores.own, abs(scores.own))
