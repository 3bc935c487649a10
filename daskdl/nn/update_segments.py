"""A whole step of learning in one pass over the flat vectors.

What a number of the vectors goes through, division, penalties, updater, subtraction,
depends on its neighbours only where gradients are normalised. Everywhere else the
vectors can be cut where the treatment changes, and each segment be brought through all
of it while it is in the cache.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.updater import PIECE, update
from daskdl.kernels.updater.joint import JointStep, Place
from daskdl.nn.param_roles import ParamSpan
from daskdl.nn.regularization import Penalty, add_to_gradient, add_to_update
from daskdl.nn.updaters.block import UpdaterBlock
from daskdl.nn.updaters.table import learning_rate, rule_of
from daskdl.nn.updaters.update_context import UpdateContext

_NO_PENALTY = Penalty()
# What is added up stays in a level-2 cache of 1 MiB beside parameters and two states
# of float32; smaller ones would leave the interpreter more to do than the kernels.
_JOINT_PIECE = 4 * PIECE


@dataclass(frozen=True)
class Segment:
    """Neighbours in the flat vectors that are treated alike.

    Parameters
    ----------
    start, stop : int
        Where they lie.
    block : UpdaterBlock
        Whose updater they have; it may be longer.
    is_averaged : bool
        Whether their gradients are divided by the number of examples.
    penalty : Penalty
        What is added to their gradients and updates.
    """

    start: int
    stop: int
    block: UpdaterBlock
    is_averaged: bool
    penalty: Penalty


def cut_segments(
    blocks: Iterable[UpdaterBlock],
    averaged: Sequence[slice],
    penalized: Sequence[ParamSpan],
) -> tuple[Segment, ...]:
    """Cut the blocks wherever a penalty or an average begins or ends.

    Parameters
    ----------
    blocks : iterable of UpdaterBlock
        Those at work.
    averaged : sequence of slice
        Where gradients are divided by the number of examples.
    penalized : sequence of ParamSpan
        Where something is added.
    """
    borders = {border for part in averaged for border in (part.start, part.stop)}
    borders |= {border for span in penalized for border in (span.start, span.stop)}
    segments = []
    for block in blocks:
        inside = sorted(b for b in borders if block.start < b < block.stop)
        cuts = [block.start, *inside, block.stop]
        for start, stop in itertools.pairwise(cuts):
            is_averaged = any(part.start <= start < part.stop for part in averaged)
            penalty = _penalty_at(start, penalized)
            segments.append(Segment(start, stop, block, is_averaged, penalty))
    return tuple(segments)


def _penalty_at(place: int, penalized: Sequence[ParamSpan]) -> Penalty:
    for span in penalized:
        if span.start <= place < span.stop:
            return span.role.penalty
    return _NO_PENALTY


def step_segment(
    segment: Segment,
    gradients: FloatArray,
    params: FloatArray,
    updater_state: FloatArray,
    *,
    n_examples: int,
    iteration: int,
    epoch: int,
    workspace: Workspace,
    others: Sequence[FloatArray] = (),
) -> None:
    """Bring a segment from the summed gradient to the parameters after the update.

    Parameters
    ----------
    segment : Segment
        Which one.
    gradients : ndarray of shape (n_params,)
        The segment's sums over the examples; overwritten by the update.
    params : ndarray of shape (n_params,)
        The update is subtracted from the segment's.
    updater_state : ndarray of shape (n_state,)
        The segment's part is brought forward.
    n_examples : int
        What averaged gradients are divided by.
    iteration, epoch : int
        Iterations and epochs done before this one.
    workspace : Workspace
        Gives a small scratch buffer.
    others : sequence of ndarray of shape (n_params,)
        Sums over further examples. They are added piece by piece, while the piece is in
        the cache: no pass over memory is made for them alone.
    """
    block, penalty = segment.block, segment.penalty
    rule = rule_of(block.updater, UpdateContext(iteration, epoch, gradients.dtype))
    state = block.parts(updater_state)
    rate = learning_rate(block.updater, iteration, epoch)
    adds = penalty.acts_on_gradient or penalty.acts_on_update
    piece = segment.stop - segment.start
    # On a device, one launch over everything is the fast way.
    if isinstance(gradients, np.ndarray) and (adds or others):
        piece = PIECE if adds else _JOINT_PIECE
    for start in range(segment.start, segment.stop, piece):
        stop = min(start + piece, segment.stop)
        g, w = gradients[start:stop], params[start:stop]
        for other in others:
            g += other[start:stop]
        divisor = n_examples if segment.is_averaged else 1
        scratch = workspace.take("updater", g.shape, g.dtype) if adds else g
        if penalty.acts_on_gradient:
            g /= divisor
            divisor = 1
            add_to_gradient(penalty, g, w, scratch, iteration=iteration, epoch=epoch)
        update(
            rule,
            g,
            state[:, start - block.start : stop - block.start],
            workspace,
            divisor=divisor,
            params=None if penalty.acts_on_update else w,
        )
        if penalty.acts_on_update:
            add_to_update(
                penalty,
                g,
                w,
                scratch,
                learning_rate=rate,
                iteration=iteration,
                epoch=epoch,
            )
            w -= g


class JointSegments:
    """All segments, none with a penalty, in one launch on a CUDA device.

    Parameters
    ----------
    segments : sequence of Segment
    like : ndarray of CuPy
        On the device.
    """

    def __init__(self, segments: Sequence[Segment], like: FloatArray) -> None:
        self._updaters: list[Any] = []
        for segment in segments:
            if segment.block.updater not in self._updaters:
                self._updaters.append(segment.block.updater)
        places = [_place(segment, self._updaters) for segment in segments]
        self._step = JointStep(like, places)

    def step(
        self,
        gradients: FloatArray,
        params: FloatArray,
        updater_state: FloatArray,
        *,
        n_examples: int,
        iteration: int,
        epoch: int,
        held: Any = None,
    ) -> None:
        """Do :func:`step_segment` for all of them.

        Parameters
        ----------
        gradients, params, updater_state, n_examples, iteration, epoch
            As there.
        held : ndarray of CuPy of shape (1,), int32, optional
            Unless it is 0 when the device gets there, nothing is done.
        """
        context = UpdateContext(iteration, epoch, gradients.dtype)
        rules = [rule_of(updater, context) for updater in self._updaters]
        vectors = (gradients, params, updater_state)
        self._step(rules, *vectors, divisor=n_examples, held=held)


def _place(segment: Segment, updaters: Sequence[Any]) -> Place:
    block = segment.block
    return Place(
        segment.start,
        segment.stop,
        updaters.index(block.updater),
        segment.is_averaged,
        block.state_start + segment.start - block.start,
        block.size,
    )
