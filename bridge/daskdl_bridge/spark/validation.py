"""Early stopping on the rows that are held back for validation."""

import math
from typing import Any

from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.fitting.listener import Listener

__all__ = ["BestOnValidation"]


class BestOnValidation(Listener):
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

    reports_as = "validation"

    def __init__(self, data: Any, patience: int, **how: Any) -> None:
        self._data = data
        self._patience = patience
        self._how = how
        self._best = -math.inf
        self._epochs_since = 0
        self.network: Any = None

    def on_epoch_end(self, fit: Any) -> None:
        """Evaluate, and stop if it is time."""
        name, figure, is_more_better = _figure(fit.evaluate(self._data, **self._how))
        fit.report_values(**{f"validation_{name}": figure})
        worth = figure if is_more_better else -figure
        if worth > self._best:
            self._best, self._epochs_since = worth, 0
            self.network = fit.network.clone()
            return
        self._epochs_since += 1
        if self._epochs_since >= self._patience:
            fit.stop()


def _figure(evaluation: Any) -> tuple[str, float, bool]:
    if isinstance(evaluation, RegressionEvaluation):
        error = float(evaluation.mean_squared_error().mean())
        return "mean_squared_error", error, False
    return "accuracy", float(evaluation.accuracy()), True
