"""From gradient to update over a whole network: who is treated how, and in what order.

The order is DL4J's: division by the number of examples, gradient normalization layer by
layer, L1 and L2, the updaters, weight decay. Running means and variances of batch
normalization are parameters too; what is subtracted from them is not an updater's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.flat import ParamLayout, Slot
from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.layer import TrainedLayerConf
from daskdl.nn.conf.names import GradientNormalizationLiteral
from daskdl.nn.conf.updaters import NoOp, Updater
from daskdl.nn.gradient_normalization import normalize_gradient
from daskdl.nn.regularization import (
    Penalty,
    add_to_gradient,
    add_to_update,
    score_term,
)
from daskdl.nn.updaters.block import (
    PIECE,
    UpdaterBlock,
    apply_updater,
    initialize_state,
)
from daskdl.nn.updaters.table import learning_rate


@dataclass(frozen=True)
class ParamRole:
    """How one parameter is treated.

    Parameters
    ----------
    slot : Slot
        Where it lies.
    updater : updater configuration
        NoOp for running statistics.
    penalty : Penalty
        L1, L2 and weight decay.
    is_running : bool
        Whether its "gradient" is a difference of running statistics, which is
        subtracted as it is.
    """

    slot: Slot
    updater: Updater
    penalty: Penalty
    is_running: bool


@dataclass(frozen=True)
class LayerStretch:
    """The parameters of one layer, which lie side by side.

    Parameters
    ----------
    start, stop : int
        In the flat vector, without running statistics, which lie behind.
    roles : tuple of ParamRole
        In layout order, running statistics included.
    normalization : str
        The layer's gradient normalization. DL4J includes running statistics in the
        norm and clips them too, so that they lag behind the data; here they are
        neither counted nor clipped.
    threshold : float
        Its bound.
    """

    start: int
    stop: int
    roles: tuple[ParamRole, ...]
    normalization: GradientNormalizationLiteral
    threshold: float


class UpdatePlan:
    """What :meth:`update` does to each stretch of the flat vectors.

    Parameters
    ----------
    layout : ParamLayout
        Of the whole network, parameters of a layer side by side.
    stretches : sequence of LayerStretch
        The layers that have parameters, in layout order.
    """

    def __init__(self, layout: ParamLayout, stretches: Sequence[LayerStretch]) -> None:
        self._layout = layout
        self._stretches = tuple(stretches)
        roles = [role for stretch in stretches for role in stretch.roles]
        self.blocks = _join_blocks(roles)
        self._averaged = _join_averaged(roles)
        self.running = tuple(role.slot for role in roles if role.is_running)
        self._penalized = [role for role in roles if role.penalty != Penalty()]

    @property
    def state_size(self) -> int:
        """Number of elements of the updater state."""
        return self.blocks[-1].state_stop if self.blocks else 0

    def initialize_state(self, updater_state: FloatArray) -> None:
        """Write the state that the updaters begin with."""
        for block in self.blocks:
            initialize_state(block, updater_state)

    def average(self, gradients: FloatArray, n_examples: int) -> None:
        """Divide sums over examples by their number; running statistics stay."""
        for stretch in self._averaged:
            gradients[stretch] /= n_examples

    def update(
        self,
        gradients: FloatArray,
        params: FloatArray,
        updater_state: FloatArray,
        *,
        iteration: int,
        workspace: Workspace,
    ) -> None:
        """Turn the gradient into the update that is subtracted from the parameters.

        Parameters
        ----------
        gradients : ndarray of shape (n_params,)
            Means over the examples; overwritten by the update.
        params : ndarray of shape (n_params,)
            Before the update. Not changed.
        updater_state : ndarray of shape (n_state,)
            Brought forward.
        iteration : int
            Iterations done before this one.
        workspace : Workspace
            Gives one small scratch buffer.
        """
        for stretch in self._stretches:
            _normalize(stretch, gradients)
        for role in self._penalized:
            if role.penalty.l1 or role.penalty.l2:
                _by_pieces(role, gradients, params, workspace, before_updater=True)
        for block in self.blocks:
            apply_updater(
                block,
                gradients,
                updater_state,
                iteration=iteration,
                workspace=workspace,
            )
        for role in self._penalized:
            if role.penalty.weight_decay:
                _by_pieces(role, gradients, params, workspace, before_updater=False)

    def regularization_score(self, params: FloatArray) -> float:
        """Return what L1, L2 and weight decay add to the score."""
        return sum(
            score_term(role.penalty, params[role.slot.offset : role.slot.stop])
            for role in self._penalized
        )


def plan_layer(
    conf: TrainedLayerConf,
    slots: Sequence[Slot],
    names: Sequence[str],
    *,
    regularized: frozenset[str],
    biases: frozenset[str],
    running: frozenset[str],
) -> LayerStretch:
    """Return how the parameters of one layer are treated.

    Parameters
    ----------
    conf : TrainedLayerConf
        Resolved.
    slots, names : sequences of Slot and str
        The parameters and what the layer calls them.
    regularized, biases, running : frozenset of str
        Names that l1, l2 and weight decay apply to; that l1_bias, l2_bias and
        bias_updater apply to; that are running statistics.
    """
    roles = []
    for slot, name in zip(slots, names, strict=True):
        is_running, is_bias = name in running, name in biases
        penalty = Penalty()
        if name in regularized:
            penalty = Penalty(
                _number(conf, "l1"), _number(conf, "l2"), _number(conf, "weight_decay")
            )
        elif is_bias:
            penalty = Penalty(_number(conf, "l1_bias"), _number(conf, "l2_bias"))
        updater = conf.bias_updater if is_bias and conf.bias_updater else conf.updater
        roles.append(
            ParamRole(
                slot, NoOp() if is_running else updater or NoOp(), penalty, is_running
            )
        )
    trained = [role.slot for role in roles if not role.is_running]
    start = slots[0].offset
    return LayerStretch(
        start,
        trained[-1].stop if trained else start,
        tuple(roles),
        conf.gradient_normalization or "none",
        conf.gradient_normalization_threshold or 1.0,
    )


def _number(conf: Any, option: str) -> float:
    return getattr(conf, option, None) or 0.0


def _join_blocks(roles: Sequence[ParamRole]) -> list[UpdaterBlock]:
    """Join consecutive parameters of equal updaters; the state follows block order."""
    blocks: list[UpdaterBlock] = []
    for role in roles:
        slot = role.slot
        if blocks and blocks[-1].updater == role.updater:
            last = blocks.pop()
            start, state_start = last.start, last.state_start
        else:
            start = slot.offset
            state_start = blocks[-1].state_stop if blocks else 0
        blocks.append(UpdaterBlock(role.updater, start, slot.stop, state_start))
    return blocks


def _join_averaged(roles: Sequence[ParamRole]) -> list[slice]:
    stretches: list[slice] = []
    for role in roles:
        start, stop = role.slot.offset, role.slot.stop
        if role.is_running:
            continue
        if stretches and stretches[-1].stop == start:
            start = stretches.pop().start
        stretches.append(slice(start, stop))
    return stretches


def _normalize(stretch: LayerStretch, gradients: FloatArray) -> None:
    if stretch.normalization == "none":
        return
    normalize_gradient(
        stretch.normalization,
        stretch.threshold,
        gradients[stretch.start : stretch.stop],
        [
            gradients[role.slot.offset : role.slot.stop]
            for role in stretch.roles
            if not role.is_running
        ],
    )


def _by_pieces(
    role: ParamRole,
    gradients: FloatArray,
    params: FloatArray,
    workspace: Workspace,
    *,
    before_updater: bool,
) -> None:
    slot = role.slot
    for start in range(slot.offset, slot.stop, PIECE):
        part = slice(start, min(start + PIECE, slot.stop))
        g, w = gradients[part], params[part]
        scratch = workspace.take("updater", g.shape, np.dtype(g.dtype))
        if before_updater:
            add_to_gradient(role.penalty, g, w, scratch)
        else:
            rate = learning_rate(role.updater)
            add_to_update(role.penalty, g, w, scratch, learning_rate=rate)
