"""The rows that are held back for validation, and early stopping on them."""

import math
from typing import Any

from daskdl.errors import DataError, OptionError
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.fitting.listeners import EvaluativeListener, figures_of
from daskdl_bridge.spark.column_names import quoted
from daskdl_bridge.spark.executor_errors import telling_executor_errors

__all__ = ["BestOnValidation", "split_by_indicator"]


class BestOnValidation(EvaluativeListener):
    """Keep the network that is best on validation data, and stop when none is better.

    Parameters
    ----------
    data : object
        As ``evaluate`` takes it.
    patience : int
        How many epochs in a row may bring nothing.
    **how
        Columns of `data`.

    Attributes
    ----------
    network : network or None
        A copy of the best one.
    """

    def __init__(self, data: Any, patience: int, **how: Any) -> None:
        super().__init__(data, name="validation", **how)
        self._patience = patience
        self._best = -math.inf
        self._epochs_since = 0
        self.network: Any = None

    def on_epoch_end(self, fit: Any) -> None:
        """Evaluate, and stop if it is time."""
        super().on_epoch_end(fit)
        (figure,) = figures_of(self.evaluation).values()
        # Of numbers it is their error.
        is_error = isinstance(self.evaluation, RegressionEvaluation)
        worth = -figure if is_error else figure
        if worth > self._best:
            self._best, self._epochs_since = worth, 0
            self.network = fit.network.clone()
            return
        self._epochs_since += 1
        if self._epochs_since >= self._patience:
            fit.stop()


def split_by_indicator(who: str, frame: Any, indicator: str) -> tuple[Any, Any]:
    """Return the rows to train on and those held back, as DataFrames.

    Parameters
    ----------
    who : str
        For messages: the estimator.
    frame : pyspark DataFrame
    indicator : str
        The column that is true where a row is held back; null is false.

    Raises
    ------
    OptionError
        If the column is not boolean.
    DataError
        If it is true in no row, or in all; before anything is trained.
    """
    from pyspark.sql import functions

    kind = frame.schema[indicator].dataType.simpleString()
    if kind != "boolean":
        raise OptionError(
            f"{who}: validationIndicatorCol must name a boolean column, got "
            f"{indicator!r} of {kind}."
        )
    is_held = functions.coalesce(functions.col(quoted(indicator)), functions.lit(False))
    train, held_back = frame.where(~is_held), frame.where(is_held)
    for rows, purpose, value in (
        (held_back, "validation", "true"),
        (train, "training", "false or null"),
    ):
        with telling_executor_errors(who):
            is_empty = rows.isEmpty()
        if is_empty:
            raise DataError(
                f"{who}: validationIndicatorCol must leave rows for {purpose}, got "
                f"none: {indicator!r} is {value} in no row."
            )
    return train, held_back
