"""Refuse a network whose parameters are no numbers any more, and say so once."""

import math
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.errors import DivergedError


class _Trained(Protocol):
    @property
    def params(self) -> FloatArray: ...

    iteration_count: int


def numbers_may_overflow() -> AbstractContextManager[None]:
    """Keep NumPy from warning of infinite numbers and NaN, until the end of a block.

    Steps that are too large warn from a dozen places before the score tells of them,
    and it is the score that is refused.
    """
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def check_score(who: str, score: float, iteration: int) -> None:
    """Refuse a score that is infinite or no number.

    Raises
    ------
    DivergedError
    """
    if not math.isfinite(score):
        raise DivergedError(
            f"{who}: the score must be a number, got {score} in iteration {iteration}. "
            "Lower the learning rate, or normalize the features."
        )


def check_finite(who: str, network: _Trained) -> None:
    """Refuse parameters of which one is infinite or no number.

    The score of an iteration is that before its update, so that nothing else notices
    what the last update did.

    Raises
    ------
    DivergedError
        Naming the first one.
    """
    params = to_host(network.params)
    finite = np.isfinite(params)
    if finite.all():
        return
    wrong = int((~finite).argmax())
    raise DivergedError(
        f"{who}: parameters must be finite, got {params[wrong]} for parameter {wrong} "
        f"of {params.size} after {network.iteration_count} iterations. Lower the "
        "learning rate, clip gradients, or normalize the features."
    )
