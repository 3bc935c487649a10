"""What early stopping leaves: why training ended, and which network was the best."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["EarlyStoppingResult", "TerminationReason"]


class TerminationReason(enum.Enum):
    """Why training ended.

    DL4J's fourth, ``Error``, is the error itself here, which ``fit`` raises.
    """

    EPOCH_TERMINATION_CONDITION = "EpochTerminationCondition"
    """One of epochs, of which ``fit(epochs=...)`` is one."""
    ITERATION_TERMINATION_CONDITION = "IterationTerminationCondition"
    """One that was asked while an epoch went on."""
    STOPPED = "Stopped"
    """Another listener ended it."""


@dataclass(frozen=True, kw_only=True)
class EarlyStoppingResult:
    """The result of a fit with :class:`~daskdl.EarlyStopping`.

    Attributes
    ----------
    termination_reason : TerminationReason
    termination_details : str
        The condition, with its options.
    score_vs_epoch : dict of int to float
        Scores at the end of epochs, which count from 1.
    score_vs_iteration : dict of int to float
        All scores, by how many minibatches were trained before, on a cluster by all
        workers.
    best_model_epoch, best_model_iteration : int or None
        Of the best score: the epoch, which may not have been whole, and the minibatches
        trained before. None if there was no score that is a number.
    best_model_score : float
        NaN likewise.
    total_epochs : int
        Whole epochs that were trained.
    best_model : MultiLayerNetwork or ComputationGraph
        With the best score, as it was then; without one the last one.

    References
    ----------
    DL4J, ``EarlyStoppingResult``, whose epochs count from 0.
    """

    termination_reason: TerminationReason
    termination_details: str
    score_vs_epoch: Mapping[int, float]
    score_vs_iteration: Mapping[int, float]
    best_model_epoch: int | None
    best_model_iteration: int | None
    best_model_score: float
    total_epochs: int
    best_model: "Network[Any]"

    def to_dict(self) -> dict[str, Any]:
        """Return all but the network, as plain values for JSON."""
        kept = {**vars(self), "termination_reason": self.termination_reason.value}
        del kept["best_model"]
        return kept

    def __repr__(self) -> str:
        return (
            f"EarlyStoppingResult({self.termination_reason.value}: "
            f"{self.termination_details}, best_model_epoch={self.best_model_epoch}, "
            f"best_model_score={self.best_model_score:.6g}, "
            f"total_epochs={self.total_epochs})"
        )
