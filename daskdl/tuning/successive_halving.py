"""Successive halving: how far trials are trained, and which of them go on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from daskdl.checks import check_count
from daskdl.errors import OptionError
from daskdl.tuning.trial import Trial

__all__ = ["SuccessiveHalving"]


@dataclass(frozen=True, kw_only=True)
class SuccessiveHalving:
    """Train all trials a little, and those further that do well.

    All are trained for `min_epochs`. Of each `reduction_factor` of them the best goes
    on, from where it stands, to as many times the epochs, and so on.

    Parameters
    ----------
    min_epochs : int
        After how many the first trials are stopped.
    reduction_factor : int
        2 or more.

    Notes
    -----
    A trial is worth its best score so far. All trials of a rung are trained before one
    goes on, so that the result does not depend on their timing.

    References
    ----------
    Jamieson, Talwalkar: Non-stochastic Best Arm Identification and Hyperparameter
    Optimization (2016), Successive Halving, with epochs for budget; the rounding is
    that of Li et al.: Hyperband (2018), algorithm 1.
    """

    min_epochs: int = 1
    reduction_factor: int = 3

    def __post_init__(self) -> None:
        who = type(self).__name__
        check_count(who, "min_epochs", self.min_epochs)
        check_count(who, "reduction_factor", self.reduction_factor)
        if self.reduction_factor < 2:
            raise OptionError(
                f"{who}: reduction_factor must be at least 2, got "
                f"{self.reduction_factor}. Without halving every trial is trained to "
                "the end."
            )

    def rungs(self, epochs: int) -> list[int]:
        """Return after how many epochs trials are compared, `epochs` last.

        Raises
        ------
        OptionError
            If `epochs` are not more than `min_epochs`.
        """
        if epochs <= self.min_epochs:
            raise OptionError(
                f"{type(self).__name__}: min_epochs must be less than the epochs of a "
                f"whole trial, {epochs}, got {self.min_epochs}."
            )
        rungs = []
        at = self.min_epochs
        while at < epochs:
            rungs.append(at)
            at *= self.reduction_factor
        return [*rungs, epochs]

    def survivors(
        self, entered: Sequence[Trial], epochs: int, *, minimize: bool
    ) -> list[Trial]:
        """Return the trials of a rung that go on to the next, by their numbers.

        One at least, if one has a score; fewer where not as many have one. Which they
        are depends on nothing but scores up to `epochs`, so that a search which is
        resumed decides as it did.

        Parameters
        ----------
        entered : sequence of Trial
        epochs : int
            Of the rung.
        minimize : bool
            Whether a lower score is better.
        """
        most = max(1, len(entered) // self.reduction_factor)
        scores = {
            one.number: one.score_at(epochs, minimize=minimize) for one in entered
        }
        able = [one for one in entered if not math.isnan(scores[one.number])]
        sign = 1 if minimize else -1
        able.sort(key=lambda one: (sign * scores[one.number], one.number))
        return sorted(able[:most], key=lambda one: one.number)
