"""The parts of a job file that say when to evaluate beside the training, and to end."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from daskdl.cli.job_moments import Moments
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.values import AnySpelling, Conf, Count, NonNegative, Positive
from daskdl.nn.early_stopping.conditions import (
    BestScoreEpochTerminationCondition,
    InvalidScoreIterationTerminationCondition,
    MaxScoreIterationTerminationCondition,
    MaxTimeIterationTerminationCondition,
    ScoreImprovementEpochTerminationCondition,
    TerminationCondition,
)
from daskdl.nn.early_stopping.early_stopping import EarlyStopping
from daskdl.nn.early_stopping.score_calculators import (
    ClassificationScoreCalculator,
    DataSetLossCalculator,
    RegressionScoreCalculator,
    ROCScoreCalculator,
    ScoreCalculator,
)
from daskdl.nn.network import Network

__all__ = ["EarlyStoppingOptions", "ValidationOptions", "validation_listener"]

_Score = Literal[
    "loss",
    "accuracy",
    "f1",
    "precision",
    "recall",
    "gmeasure",
    "mcc",
    "far",
    "mse",
    "mae",
    "rmse",
    "rse",
    "pc",
    "r2",
    "auc",
    "auprc",
]
_CLASSES = ("accuracy", "f1", "precision", "recall", "gmeasure", "mcc", "far")
_VALUES = ("mse", "mae", "rmse", "rse", "pc", "r2")


class ValidationOptions(Moments):
    """When a job evaluates on `data.validation`."""


class EarlyStoppingOptions(Conf):
    """When a job ends before its epochs are over, and what makes a network the best.

    What is not given ends nothing.
    """

    score: Annotated[
        _Score,
        AnySpelling(),
        Field(
            description="What makes a network the best: its loss, a metric of classes "
            "(accuracy, f1, precision, recall, gmeasure, mcc; far of independent "
            "outputs), of values (mse, mae, rmse, rse, pc, r2), or the area under a "
            "curve (auc, auprc)."
        ),
    ] = "loss"
    max_epochs_with_no_improvement: Annotated[
        Count | None,
        Field(description="So many epochs in a row without a better score end it."),
    ] = None
    min_improvement: Annotated[
        NonNegative,
        Field(description="By how much a score must be better to count there."),
    ] = 0.0
    best_expected_score: Annotated[
        float | None, Field(description="A score that is better than this ends it.")
    ] = None
    max_time_s: Annotated[
        Positive | None, Field(description="So many seconds of training end it.")
    ] = None
    max_score: Annotated[
        float | None,
        Field(description="A score of minibatches above this ends it, or no number."),
    ] = None
    invalid_score: Annotated[
        bool,
        Field(
            description="A score of minibatches that is no number ends it with the "
            "best network, in place of an error."
        ),
    ] = False

    def score_calculator(self, data: Any, **how: Any) -> ScoreCalculator:
        """Return the calculator of `score`, of `data`."""
        if self.score == "loss":
            return DataSetLossCalculator(data, **how)
        make: Callable[..., ScoreCalculator] = ROCScoreCalculator
        if self.score in _CLASSES:
            make = ClassificationScoreCalculator
        elif self.score in _VALUES:
            make = RegressionScoreCalculator
        return make(self.score, data, **how)

    def conditions(self) -> list[TerminationCondition]:
        """Return the termination conditions that the keys describe."""
        conditions: list[TerminationCondition] = []
        if self.max_epochs_with_no_improvement is not None:
            conditions.append(
                ScoreImprovementEpochTerminationCondition(
                    self.max_epochs_with_no_improvement, self.min_improvement
                )
            )
        if self.best_expected_score is not None:
            best = BestScoreEpochTerminationCondition(self.best_expected_score)
            conditions.append(best)
        if self.max_time_s is not None:
            conditions.append(MaxTimeIterationTerminationCondition(self.max_time_s))
        if self.max_score is not None:
            conditions.append(MaxScoreIterationTerminationCondition(self.max_score))
        if self.invalid_score:
            conditions.append(InvalidScoreIterationTerminationCondition())
        return conditions


def validation_listener(
    validation: ValidationOptions | None,
    early_stopping: EarlyStoppingOptions | None,
    network: Network[Any],
    data: Any,
    **how: Any,
) -> EarlyStopping:
    """Return the listener that evaluates beside the training.

    Parameters
    ----------
    validation, early_stopping : options or None
        Of the job's `training`.
    network : Network
        That will be trained.
    data, **how
        As ``evaluate`` of the front end takes them.

    Raises
    ------
    OptionError
        If the score does not go with the network's loss.
    """
    when = validation or ValidationOptions()
    ends = early_stopping or EarlyStoppingOptions()
    calculator = ends.score_calculator(data, **how)
    try:
        calculator.check(network)
    except OptionError as error:
        raise PathError(str(error), "training", "early_stopping", "score") from error
    return EarlyStopping(
        calculator,
        ends.conditions(),
        evaluate_every_n_epochs=when.every_n_epochs,
        evaluate_every_n_iterations=when.every_n_iterations,
    )
