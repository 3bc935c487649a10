"""A step of the averaged parameters, with momentum from round to round. Pure.

Element by element in a fixed order, with an alignment that is rounded: members that
hold the same mean, base and velocity end with the same bits, whatever machine they are
on.
"""

import math
from collections.abc import Sequence

import numpy as np

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.options import BlockMomentumTrainingMaster


class OuterMomentum:
    """Go further than to the mean of all members, in the direction of earlier rounds.

    With `gain` the mean less the parameters that all had at the start of a round::

        alignment = max(0, cosine(velocity, gain))    # or 1
        before, velocity = momentum * velocity, momentum * velocity + gain
        step = gain + alignment * momentum * velocity
        step = gain + alignment * before              # with nesterov=False
        params = base + learning_rate * step

    Rounds that lead here and there, as where the rate is high for the task, have a low
    alignment: momentum would carry on what the mean has just taken out.

    Parameters
    ----------
    master : BlockMomentumTrainingMaster
        Has the rates.
    running_slots : sequence of Slot
        Where running statistics lie, which become their mean: a variance that is
        carried on by momentum may become negative.
    velocity : ndarray of shape (n,), optional
        That of the members whom we join; zeros if not given. Not changed.

    References
    ----------
    Chen and Huo, "Scalable training of deep learning machines by incremental block
    training with intra-block parallel optimization and blockwise model-update
    filtering", 2016, written for the point from which a block starts; Douillard et al.,
    "DiLoCo: Distributed low-communication training of language models", 2023.
    """

    def __init__(
        self,
        master: BlockMomentumTrainingMaster,
        running_slots: Sequence[Slot] = (),
        velocity: FloatArray | None = None,
    ) -> None:
        self._momentum = master.outer_momentum
        self._rate = master.outer_learning_rate
        self._nesterov = master.outer_nesterov
        self._aligns = master.outer_alignment
        self._running = [slice(slot.offset, slot.stop) for slot in running_slots]
        self._velocity = velocity
        self._base: FloatArray = np.empty(0)

    @property
    def velocity(self) -> FloatArray | None:
        """That of the last step, (n,), never written again; None before the first."""
        return self._velocity

    def begin(self, params: FloatArray) -> None:
        """Note the parameters, (n,), from which all members start a round."""
        self._base = params.copy()

    def step(self, mean: FloatArray) -> FloatArray:
        """Return where all go on from, (n,), after a round with this mean, (n,)."""
        gain = mean - self._base
        for span in self._running:
            gain[span] = 0
        momentum, rate = (mean.dtype.type(v) for v in (self._momentum, self._rate))
        # Of the first round there is nothing to be aligned with.
        before, weight = np.zeros_like(gain), mean.dtype.type(not self._aligns)
        if self._velocity is not None:
            before = momentum * self._velocity
            if self._aligns:
                weight = mean.dtype.type(alignment(self._velocity, gain))
        self._velocity = before + gain
        step = gain + weight * (momentum * self._velocity if self._nesterov else before)
        # Added to the mean: rate 1 without momentum leaves its very bits.
        onward: FloatArray = mean + (rate * step - gain)
        return onward

    def go_on(self, velocity: FloatArray) -> None:
        """Take over a velocity, (n,), that an earlier session left. Not changed."""
        self._velocity = velocity

    def forget(self) -> None:
        """Begin without a direction: a member has trained alone."""
        self._velocity = None


def alignment(velocity: FloatArray, gain: FloatArray) -> float:
    """Return the cosine of two directions, (n,) each; 0 where they are apart.

    To hundredths, so that members whose processors add up otherwise have the same.
    """
    squares = [float(np.dot(x, x)) for x in (velocity, gain)]
    if not all(squares):
        return 0.0
    cosine = float(np.dot(velocity, gain)) / math.sqrt(squares[0] * squares[1])
    return max(0.0, round(cosine, 2))
