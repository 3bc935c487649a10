"""A trial: what one network of a search was drawn as, and what came of it."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from daskdl.errors import FormatError

__all__ = ["Trial", "TrialState"]

VERSION = 1


class TrialState(enum.Enum):
    """Where a trial stands."""

    WAITING = "waiting"
    """It is to be trained, for the first time or further."""
    STOPPED = "stopped"
    """Others were better: it is not trained further."""
    FINISHED = "finished"
    """It was trained to the end, or until a termination condition held."""
    DIVERGED = "diverged"
    """A score or a parameter was no number."""
    FAILED = "failed"
    """It could not be trained; `failures` say why."""


_LOST = (TrialState.DIVERGED, TrialState.FAILED)


@dataclass
class Trial:
    """A network that was tried.

    Attributes
    ----------
    number : int
        From 1.
    parameters : dict of str to (str, int, float, bool or None)
        What was drawn for it.
    state : TrialState
    score : float
        The best one so far; NaN if there is none.
    best_epoch : int or None
        The epoch that it is of.
    scores : dict of int to float
        By epoch, from 1.
    epochs : int
        Whole epochs that were trained.
    examples : int
        Examples that were trained, with those that had to be trained again.
    lost_examples : int
        How many of them were trained behind the last checkpoint of a fit that ended
        too early, and therefore in vain.
    wall_s : float
        Seconds of its fits.
    is_ended : bool
        Whether a termination condition held: then nothing more is trained.
    failures : list of str
        Why fits of it ended too early, or what made it diverge, in order.
    """

    number: int
    parameters: dict[str, Any]
    state: TrialState = TrialState.WAITING
    score: float = math.nan
    best_epoch: int | None = None
    scores: dict[int, float] = field(default_factory=dict)
    epochs: int = 0
    examples: int = 0
    lost_examples: int = 0
    wall_s: float = 0.0
    is_ended: bool = False
    failures: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"trial-{self.number:04}"

    @property
    def is_lost(self) -> bool:
        """Whether it diverged or failed."""
        return self.state in _LOST

    def has_reached(self, epochs: int) -> bool:
        """Tell whether it was trained for so many epochs, or ended before."""
        return self.epochs >= epochs or self.is_ended

    def score_at(self, epochs: int, *, minimize: bool) -> float:
        """Return the best score up to an epoch; NaN if there is none, or it was lost.

        Parameters
        ----------
        epochs : int
        minimize : bool
            Whether a lower score is better.
        """
        known = [
            one
            for epoch, one in self.scores.items()
            if epoch <= epochs and not math.isnan(one)
        ]
        if not known or not self.has_reached(epochs):
            return math.nan
        return min(known) if minimize else max(known)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which has no NaN and no numbers for keys."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            "version": VERSION,
            **values,
            "state": self.state.value,
            "score": _told(self.score),
            "scores": [[epoch, _told(one)] for epoch, one in self.scores.items()],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Trial":
        """Return the trial of which :meth:`to_dict` made plain values.

        Raises
        ------
        FormatError
            If they are none, or of a newer version.
        """
        try:
            if (version := values["version"]) > VERSION:
                raise FormatError(
                    f"version must be at most {VERSION}, got {version}. A newer file "
                    "needs a newer daskdl."
                )
            kept = {one.name: values[one.name] for one in fields(cls)}
            kept["state"] = TrialState(kept["state"])
            kept["score"] = _heard(kept["score"])
            kept["scores"] = {epoch: _heard(one) for epoch, one in kept["scores"]}
            return cls(**kept)
        except FormatError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"the values must be those of a trial, got others: {error!r}."
            ) from error


def _told(score: float) -> float | str | None:
    if math.isnan(score):
        return None
    return score if math.isfinite(score) else repr(score)


def _heard(score: float | str | None) -> float:
    return math.nan if score is None else float(score)
