"""When training has gone on for long enough: DL4J's termination conditions.

Those of epochs are asked at the end of each, those of iterations with the score of the
last minibatches. What one remembers goes into checkpoints of a run.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from daskdl.checks import (
    as_known,
    check_at_least,
    check_count,
    check_one_of,
    check_positive,
    check_whole,
)
from daskdl.errors import OptionError
from daskdl.nn.early_stopping.remembering import Initialized, Remembering

__all__ = [
    "BestScoreEpochTerminationCondition",
    "EpochTerminationCondition",
    "InvalidScoreIterationTerminationCondition",
    "IterationTerminationCondition",
    "MaxEpochsTerminationCondition",
    "MaxScoreIterationTerminationCondition",
    "MaxTimeIterationTerminationCondition",
    "ScoreImprovementEpochTerminationCondition",
    "TerminationCondition",
    "conditions_of",
]

_UNITS_S = {
    "nanoseconds": 1e-9,
    "microseconds": 1e-6,
    "milliseconds": 1e-3,
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86400.0,
}


class EpochTerminationCondition(Initialized, Remembering, ABC):
    """The base class of conditions that are asked at the end of epochs.

    References
    ----------
    DL4J, ``EpochTerminationCondition``, whose epochs count from 0; these from 1.
    """

    #: Whether it is asked only where a score was calculated.
    requires_score = True

    @abstractmethod
    def terminate(self, epoch: int, score: float, *, minimize: bool) -> bool:
        """Return whether training ends.

        Parameters
        ----------
        epoch : int
            The one that ended, from 1.
        score : float
            Of the network then; NaN if none was calculated.
        minimize : bool
            Whether a lower score is better.
        """


class IterationTerminationCondition(Initialized, Remembering, ABC):
    """The base class of conditions that are asked while epochs go on.

    References
    ----------
    DL4J, ``IterationTerminationCondition``.
    """

    @abstractmethod
    def terminate(self, last_score: float) -> bool:
        """Return whether training ends.

        Parameters
        ----------
        last_score : float
            Of the last minibatch, on a cluster the mean of the last ones; NaN where
            training ended because one was no number.
        """


TerminationCondition: TypeAlias = (
    EpochTerminationCondition | IterationTerminationCondition
)
"""A condition of either kind."""


class MaxEpochsTerminationCondition(EpochTerminationCondition):
    """Ends training after so many epochs.

    Parameters
    ----------
    max_epochs : int

    References
    ----------
    DL4J, ``MaxEpochsTerminationCondition``.
    """

    requires_score = False

    def __init__(self, max_epochs: int) -> None:
        self.max_epochs = check_count(type(self).__name__, "max_epochs", max_epochs)

    def terminate(self, epoch: int, score: float, *, minimize: bool) -> bool:
        """Return whether these were enough."""
        return epoch >= self.max_epochs

    def __repr__(self) -> str:
        return f"MaxEpochsTerminationCondition({self.max_epochs})"


class BestScoreEpochTerminationCondition(EpochTerminationCondition):
    """Ends training once the score is better than one that is good enough.

    Parameters
    ----------
    best_expected_score : float

    References
    ----------
    DL4J, ``BestScoreEpochTerminationCondition``.
    """

    def __init__(self, best_expected_score: float) -> None:
        self.best_expected_score = check_at_least(
            type(self).__name__, "best_expected_score", best_expected_score, -math.inf
        )

    def terminate(self, epoch: int, score: float, *, minimize: bool) -> bool:
        """Return whether it is reached."""
        return is_better(score, self.best_expected_score, minimize=minimize)

    def __repr__(self) -> str:
        return f"BestScoreEpochTerminationCondition({self.best_expected_score})"


class ScoreImprovementEpochTerminationCondition(EpochTerminationCondition):
    """Ends training after so many epochs in a row that brought no better score.

    Parameters
    ----------
    max_epochs_with_no_improvement : int
        With 0 the first such epoch is one too many, as with 1.
    min_improvement : float
        By how much a score must be better to count.

    Notes
    -----
    Epochs count, not scores: with ``evaluate_every_n_epochs=5`` those between two
    scores do, too. A score that is no number is no improvement, and any other is one on
    it.

    References
    ----------
    DL4J, ``ScoreImprovementEpochTerminationCondition``, for which nothing improves on
    a first score that is no number.
    """

    def __init__(
        self, max_epochs_with_no_improvement: int, min_improvement: float = 0.0
    ) -> None:
        who = type(self).__name__
        self.max_epochs_with_no_improvement = check_whole(
            who, "max_epochs_with_no_improvement", max_epochs_with_no_improvement
        )
        self.min_improvement = check_at_least(
            who, "min_improvement", min_improvement, 0.0
        )
        self.initialize()

    def initialize(self) -> None:
        """Forget the best score."""
        self._best_epoch: int | None = None
        self._best_score = math.nan

    def terminate(self, epoch: int, score: float, *, minimize: bool) -> bool:
        """Return whether the best score is too old."""
        if self._best_epoch is None or self._is_improvement(score, minimize=minimize):
            self._best_epoch, self._best_score = epoch, score
            return False
        return epoch >= self._best_epoch + self.max_epochs_with_no_improvement

    def _is_improvement(self, score: float, *, minimize: bool) -> bool:
        if math.isnan(self._best_score):
            return not math.isnan(score)
        gain = self._best_score - score if minimize else score - self._best_score
        return gain > self.min_improvement

    def kept_state(self) -> Mapping[str, Any]:
        """Return the best score and its epoch."""
        return {"best_epoch": self._best_epoch, "best_score": self._best_score}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Go on from them."""
        self._best_epoch, self._best_score = state["best_epoch"], state["best_score"]

    def __repr__(self) -> str:
        return (
            "ScoreImprovementEpochTerminationCondition("
            f"max_epochs_with_no_improvement={self.max_epochs_with_no_improvement}, "
            f"min_improvement={self.min_improvement})"
        )


class MaxTimeIterationTerminationCondition(IterationTerminationCondition):
    """Ends training after some time, by the clock.

    Parameters
    ----------
    max_time : float
        Time since training began; of a run that goes on, that while it trained.
    time_unit : {'nanoseconds', ..., 'seconds', 'minutes', 'hours', 'days'}
        What it is told in: Java's ``TimeUnit``.

    Attributes
    ----------
    max_time_s : float
        The same in seconds.

    References
    ----------
    DL4J, ``MaxTimeIterationTerminationCondition``.
    """

    def __init__(self, max_time: float, time_unit: str = "seconds") -> None:
        who = type(self).__name__
        unit = check_one_of(who, "time_unit", as_known(time_unit, _UNITS_S), _UNITS_S)
        self.max_time_s = check_positive(who, "max_time", max_time) * _UNITS_S[unit]
        self.initialize()

    def initialize(self) -> None:
        """Begin to count."""
        self._start_s = time.monotonic()

    def terminate(self, last_score: float) -> bool:
        """Return whether it is over."""
        return time.monotonic() - self._start_s >= self.max_time_s

    def kept_state(self) -> Mapping[str, Any]:
        """Return the time that has passed."""
        return {"passed_s": time.monotonic() - self._start_s}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Go on from it."""
        self._start_s = time.monotonic() - state["passed_s"]

    def __repr__(self) -> str:
        return f"MaxTimeIterationTerminationCondition({self.max_time_s})"


class MaxScoreIterationTerminationCondition(IterationTerminationCondition):
    """Ends training when the score of minibatches is above a limit, or no number.

    Parameters
    ----------
    max_score : float

    References
    ----------
    DL4J, ``MaxScoreIterationTerminationCondition``.
    """

    def __init__(self, max_score: float) -> None:
        self.max_score = check_at_least(
            type(self).__name__, "max_score", max_score, -math.inf
        )

    def terminate(self, last_score: float) -> bool:
        """Return whether it is exceeded."""
        return last_score > self.max_score or math.isnan(last_score)

    def __repr__(self) -> str:
        return f"MaxScoreIterationTerminationCondition({self.max_score})"


class InvalidScoreIterationTerminationCondition(IterationTerminationCondition):
    """Ends training when a score is no number, in place of a `DivergedError`.

    If there is no best network yet, the error is raised all the same.

    References
    ----------
    DL4J, ``InvalidScoreIterationTerminationCondition``.
    """

    def terminate(self, last_score: float) -> bool:
        """Return whether it is infinite or NaN."""
        return not math.isfinite(last_score)

    def __repr__(self) -> str:
        return "InvalidScoreIterationTerminationCondition()"


def is_better(score: float, than: float, *, minimize: bool) -> bool:
    """Return whether a score is better than another; NaN is not."""
    return score < than if minimize else score > than


def conditions_of(
    who: str, given: TerminationCondition | Iterable[TerminationCondition]
) -> list[TerminationCondition]:
    """Return one condition or several as a list.

    Raises
    ------
    OptionError
        If one is none, or stands there twice.
    """
    kinds = (EpochTerminationCondition, IterationTerminationCondition)
    items: list[Any] = [given] if not isinstance(given, Iterable) else list(given)
    for item in items:
        if not isinstance(item, kinds):
            got = item.__name__ if isinstance(item, type) else type(item).__name__
            hint = f" Make one: {got}(...)." if isinstance(item, type) else ""
            raise OptionError(
                f"{who}: termination_conditions must be EpochTerminationConditions and "
                f"IterationTerminationConditions, got {got}.{hint}"
            )
    if len({id(item) for item in items}) < len(items):
        raise OptionError(
            f"{who}: termination_conditions must be different objects, got one twice."
        )
    return items
