"""The labels that each loss takes, in one table.

What is no label of a loss makes its score NaN, or lets it fall for ever: that looks
like a learning rate that is too high. So labels are held against the rule before they
are trained on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.finite import first_place
from daskdl.errors import DataError

__all__ = ["RULES", "LabelRule", "label_rule"]


@dataclass(frozen=True)
class LabelRule:
    """The condition that every label of a loss must meet.

    Parameters
    ----------
    must : str
        In words, for messages.
    holds : function of ndarray -> ndarray of bool
        True where a number is a label; False for NaN.
    advice : str
        What to do with those that are none.
    tells_classes : bool
        Whether labels stand for classes or probabilities, of which no other number
        tells the same: they must not be normalized.
    loss : str
        Its name; empty if messages name it otherwise.
    """

    must: str
    holds: Callable[[Any], Any]
    advice: str = ""
    tells_classes: bool = True
    loss: str = ""

    def check(self, what: str, labels: Any, counts: Any = None) -> None:
        """Refuse labels that do not meet the condition.

        Parameters
        ----------
        what : str
            For messages: what the labels are called, and whose they are.
        labels : ndarray of shape (batch, ...)
        counts : ndarray of bool, optional
            Broadcasts to `labels`: where it is False, anything may stand.

        Raises
        ------
        DataError
            With the first such number and its row.
        """
        is_label: NDArray[np.bool_] = self.holds(labels)
        if counts is not None:
            is_label = is_label | ~counts
        place = first_place(~is_label)
        if place is None:
            return
        advice = f" {self.advice}" if self.advice else ""
        whose = f" of the loss {self.loss!r}" if self.loss else ""
        raise DataError(
            f"{what}{whose} must {self.must}, got {self.told(labels, place)}.{advice}"
        )

    def told(self, labels: Any, place: tuple[int, ...]) -> str:
        """Return a refused number as text, and where it stands."""
        return f"{labels[place].item()!r} in row {place[0]}"


def label_rule(loss: str, n_out: int | None) -> LabelRule | None:
    """Return the rule of a loss; None if it takes any number.

    Parameters
    ----------
    loss : str
        Its name; empty if there is none.
    n_out : int or None
        Number of outputs. None where only the data will tell: nobody can then tell the
        number of a class from none.
    """
    if loss == "sparse_mcxent":
        return None if n_out is None else _class_numbers(n_out)
    rule = RULES.get(loss)
    return None if rule is None else replace(rule, loss=loss)


def _class_numbers(n_out: int) -> LabelRule:
    return LabelRule(
        f"be whole numbers from 0 to {n_out - 1}",
        partial(_are_below, n_out),
        loss="sparse_mcxent",
    )


def _are_below(n_out: int, labels: Any) -> Any:
    return (labels >= 0) & (labels < n_out) & (labels == np.floor(labels))


def _are_probabilities(labels: Any) -> Any:
    return (labels >= 0) & (labels <= 1)


def _are_signs(labels: Any) -> Any:
    return (labels == -1) | (labels == 1)


def _are_counts(labels: Any) -> Any:
    return labels >= 0


def _are_above_minus_one(labels: Any) -> Any:
    return labels > -1


def _are_not_zero(labels: Any) -> Any:
    return (labels < 0) | (labels > 0)


_PROBABILITIES = LabelRule("be from 0 to 1", _are_probabilities)
_SIGNS = LabelRule(
    "be -1 or 1",
    _are_signs,
    advice="Give 2 * labels - 1 for labels of 0 and 1.",
)
RULES: dict[str, LabelRule | None] = {
    "xent": _PROBABILITIES,
    "mcxent": _PROBABILITIES,
    "negativeloglikelihood": _PROBABILITIES,
    "kl_divergence": _PROBABILITIES,
    "multilabel": _PROBABILITIES,
    "fmeasure": _PROBABILITIES,
    "hinge": _SIGNS,
    "squared_hinge": _SIGNS,
    "poisson": LabelRule("not be negative", _are_counts, tells_classes=False),
    "msle": LabelRule(
        "be greater than -1",
        _are_above_minus_one,
        advice="It takes their logarithm, plus 1.",
        tells_classes=False,
    ),
    "mape": LabelRule(
        "not be 0",
        _are_not_zero,
        advice="It divides by them: use 'mae', or mask them.",
        tells_classes=False,
    ),
    "mse": None,
    "l2": None,
    "mae": None,
    "l1": None,
    "cosine_proximity": None,
    "wasserstein": None,
    "mixture_density": None,
}
