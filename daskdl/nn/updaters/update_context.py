"""The context of one update: its iteration, and the precision of its numbers."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from daskdl.nn.conf.schedules import Schedule, value_at

Number: TypeAlias = np.floating[Any]


@dataclass(frozen=True)
class UpdateContext:
    """One iteration of training, as an updater sees it.

    Parameters
    ----------
    iteration, epoch : int
        Iterations and epochs done before this one.
    dtype : dtype
        Of parameters, gradients and state.

    Notes
    -----
    An updater's scalars are computed in the type of the arrays. In single precision
    ``1 - 0.999`` is 1e-5 off, so their type shows in the fifth digit of the updates.
    """

    iteration: int
    epoch: int
    dtype: np.dtype[Any]

    @property
    def t(self) -> Number:
        """Number of this iteration, counted from 1."""
        return self.number(self.number(self.iteration) + 1)

    def number(self, value: float) -> Number:
        """Return `value` in the type of the arrays."""
        number: Number = self.dtype.type(value)
        return number

    def value(self, schedule: float | Schedule) -> Number:
        """Return the value of a number or schedule now, in the type of the arrays."""
        return self.number(value_at(schedule, self.iteration, self.epoch))
