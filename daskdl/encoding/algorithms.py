"""Threshold algorithms: which threshold the next message is encoded with.

An algorithm is options and pure functions; what changes from call to call is an
explicit :class:`ThresholdState`, so that it can be saved, averaged and moved.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from daskdl.checks import check_at_least, check_positive
from daskdl.errors import OptionError

# A dense (bitmap) message costs 1/16 of the vector: what it counts as, as a sparsity.
DENSE_SPARSITY = 1 / 16

# The factor 2 in 20 messages.
_DEFAULT_DECAY = 0.5 ** (1 / 20)


@dataclass(frozen=True, kw_only=True)
class LastEncoding:
    """Threshold and sparsity of the message before this one.

    Attributes
    ----------
    threshold : float
        What it was encoded with.
    sparsity : float or None
        Its length over the length of the vector; ``None`` when it was dense.
    """

    threshold: float
    sparsity: float | None


@dataclass(frozen=True, kw_only=True)
class ThresholdState:
    """The state of a threshold algorithm between fits; NaN is not known yet."""

    threshold: float = math.nan
    sparsity: float = math.nan


class ThresholdAlgorithm(ABC):
    """Chooses the threshold of each message."""

    @property
    def first_share(self) -> float | None:
        """Share of an update that its threshold is read off; None where it is given."""
        return None

    @abstractmethod
    def next_threshold(
        self, state: ThresholdState, last: LastEncoding | None
    ) -> tuple[float, ThresholdState]:
        """Return the threshold of the next message and the new state.

        Parameters
        ----------
        state : ThresholdState
            What the last call returned, or one that was averaged or loaded.
        last : LastEncoding or None
            The message before; ``None`` for the first one of a handler.
        """

    def reduce(self, states: Iterable[ThresholdState]) -> ThresholdState:
        """Return the mean state of several workers.

        A value that is not known is left out of the mean. (DL4J counts a sparsity that
        is not known as 0, which lowers the threshold for no reason.)
        """
        known = list(states)
        return ThresholdState(
            threshold=_mean(state.threshold for state in known),
            sparsity=_mean(state.sparsity for state in known),
        )


# Arguments come in the order of DL4J's constructors.
@dataclass(frozen=True)
class FixedThresholdAlgorithm(ThresholdAlgorithm):
    """Always the same threshold.

    Parameters
    ----------
    threshold : float
        Greater than 0.
    """

    threshold: float = 1e-3

    def __post_init__(self) -> None:
        check_positive("FixedThresholdAlgorithm", "threshold", self.threshold)

    def next_threshold(
        self, state: ThresholdState, last: LastEncoding | None
    ) -> tuple[float, ThresholdState]:
        """Return the threshold and the state as it was."""
        return self.threshold, state


# Arguments come in the order of DL4J's constructors.
@dataclass(frozen=True)
class AdaptiveThresholdAlgorithm(ThresholdAlgorithm):
    """Keep the sparsity of the messages within a range.

    Parameters
    ----------
    initial_threshold : float, optional
        The first threshold. ``None`` reads it off the updates: so high that the share
        `max_target_sparsity` of the first one is sent, and at once higher where updates
        outgrow it. DL4J starts at 1e-4.
    min_target_sparsity, max_target_sparsity : float
        Below the first the threshold is multiplied by the decay rate, above the second
        divided; between them it stays. DL4J's second is 1e-2.
    decay_rate : float
        From 0.5, less than 1; 0.966 halves the threshold in 20 messages.

    Notes
    -----
    Sparsity is the length of a message over that of the vector, a dense one counting as
    1/16.
    """

    initial_threshold: float | None = None
    min_target_sparsity: float = 1e-4
    max_target_sparsity: float = 3e-2
    decay_rate: float = _DEFAULT_DECAY

    def __post_init__(self) -> None:
        who = "AdaptiveThresholdAlgorithm"
        _check_first(who, self.initial_threshold)
        check_positive(who, "min_target_sparsity", self.min_target_sparsity)
        check_at_least(
            who,
            "max_target_sparsity",
            self.max_target_sparsity,
            self.min_target_sparsity,
        )
        _check_decay(who, self.decay_rate)

    @property
    def first_share(self) -> float | None:
        """The highest sparsity that is aimed at, unless the threshold is given."""
        return self.max_target_sparsity if self.initial_threshold is None else None

    def next_threshold(
        self, state: ThresholdState, last: LastEncoding | None
    ) -> tuple[float, ThresholdState]:
        """Return the threshold, changed if the last message was out of range."""
        return _steered(
            state,
            last,
            initial=self.initial_threshold,
            low=self.min_target_sparsity,
            high=self.max_target_sparsity,
            decay=self.decay_rate,
        )


# Arguments come in the order of DL4J's constructors.
@dataclass(frozen=True)
class TargetSparsityThresholdAlgorithm(ThresholdAlgorithm):
    """Steer the sparsity of the messages to one value.

    Parameters
    ----------
    initial_threshold : float, optional
        The first threshold. ``None`` reads it off the updates: so high that the share
        `sparsity_target` of the first one is sent, and at once higher where updates
        outgrow it. DL4J starts at 1e-4.
    sparsity_target : float
        Greater than 0, less than 1/16, which is what a dense message counts as.
    decay_rate : float
        From 0.5, less than 1; the factor of one change.
    """

    initial_threshold: float | None = None
    sparsity_target: float = 1e-3
    decay_rate: float = _DEFAULT_DECAY

    def __post_init__(self) -> None:
        who = "TargetSparsityThresholdAlgorithm"
        _check_first(who, self.initial_threshold)
        check_positive(who, "sparsity_target", self.sparsity_target)
        if self.sparsity_target >= DENSE_SPARSITY:
            raise OptionError(
                f"{who}: sparsity_target must be < {DENSE_SPARSITY} (a dense message), "
                f"got {self.sparsity_target!r}."
            )
        _check_decay(who, self.decay_rate)

    @property
    def first_share(self) -> float | None:
        """The highest sparsity that is aimed at, unless the threshold is given."""
        return self.sparsity_target if self.initial_threshold is None else None

    def next_threshold(
        self, state: ThresholdState, last: LastEncoding | None
    ) -> tuple[float, ThresholdState]:
        """Return the threshold, changed unless the last message hit the target."""
        return _steered(
            state,
            last,
            initial=self.initial_threshold,
            low=self.sparsity_target,
            high=self.sparsity_target,
            decay=self.decay_rate,
        )


def _steered(
    state: ThresholdState,
    last: LastEncoding | None,
    *,
    initial: float | None,
    low: float,
    high: float,
    decay: float,
) -> tuple[float, ThresholdState]:
    """Lower the threshold if the last message was too sparse, raise it if too dense."""
    if last is None and math.isnan(state.threshold):
        if initial is None:
            # Nothing but zeros came yet: there is nothing to send either.
            return math.nan, state
        return initial, ThresholdState(threshold=initial, sparsity=state.sparsity)
    threshold, sparsity = _where_it_stands(state, last)
    if sparsity < low:
        threshold *= decay
    elif sparsity > high:
        threshold /= decay
    return threshold, ThresholdState(threshold=threshold, sparsity=sparsity)


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    # Exact, so that all members get the same bits in whatever order they ask.
    return math.fsum(known) / len(known) if known else math.nan


def _where_it_stands(
    state: ThresholdState, last: LastEncoding | None
) -> tuple[float, float]:
    if last is None:
        return state.threshold, state.sparsity
    sparsity = DENSE_SPARSITY if last.sparsity is None else last.sparsity
    return last.threshold, sparsity


def _check_first(who: str, value: float | None) -> None:
    if value is not None:
        check_positive(who, "initial_threshold", value)


def _check_decay(who: str, value: float) -> None:
    check_at_least(who, "decay_rate", value, 0.5)
    if value >= 1:
        raise OptionError(f"{who}: decay_rate must be < 1, got {value!r}.")
