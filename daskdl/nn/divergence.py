"""Refuse a network whose parameters are no numbers any more."""

from typing import Protocol

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.errors import DivergedError


class _Trained(Protocol):
    @property
    def params(self) -> FloatArray: ...

    iteration_count: int


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
