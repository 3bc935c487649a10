"""Early stopping on the rows that are held back for validation."""

import math
from typing import Any

from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.fitting.listeners import EvaluativeListener, figures_of

__all__ = ["BestOnValidation"]


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
