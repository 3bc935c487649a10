"""From gradient to update over a whole network: normalize, penalize, update.

The order is: division by the number of examples, gradient normalization layer by
layer, L1 and L2, the updaters, weight decay; after the update, constraints. Running
means and variances of batch normalization are parameters too; what is subtracted from
them is not an updater's.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_on_device
from daskdl.kernels.updater import PIECE
from daskdl.nn.constraints import apply_constraint
from daskdl.nn.gradient_normalization import normalize_gradient
from daskdl.nn.param_roles import LayerSpan, ParamRole, ParamSpan, consecutive_spans
from daskdl.nn.regularization import Penalty, add_to_gradient, add_to_update, score_term
from daskdl.nn.update_segments import JointSegments, cut_segments, step_segment
from daskdl.nn.updaters.block import UpdaterBlock, apply_updater, initialize_state
from daskdl.nn.updaters.table import is_known, learning_rate


class UpdatePlan:
    """The steps of :meth:`update` for each stretch of the flat vectors.

    Parameters
    ----------
    layout : ParamLayout
        Of the whole network, parameters of a layer side by side.
    layer_spans : sequence of LayerSpan
        The layers that have parameters, in layout order; for layer-wise pretraining one
        layer alone.
    pretraining : bool
        Whether parameters that change only in layer-wise pretraining do so now.
    """

    def __init__(
        self,
        layout: ParamLayout,
        layer_spans: Sequence[LayerSpan],
        *,
        pretraining: bool = False,
    ) -> None:
        self._layout = layout
        self._layer_spans = tuple(layer_spans)
        roles = [role for layer_span in layer_spans for role in layer_span.roles]
        spans = [
            span
            for layer, layer_span in enumerate(layer_spans)
            for span in layer_span.spans(layer)
        ]
        self.blocks = _join_blocks(spans)
        self.running = tuple(role.slot for role in roles if role.is_running)
        self._averaged = _join([role for role in roles if not role.is_running])
        self._still = [role for role in roles if _is_still(role, pretraining)]
        self._active = [role for role in roles if not _is_still(role, pretraining)]
        self._constrained = [
            (role, constraint)
            for role in roles
            for constraint in role.constraints
            if not _is_still(role, pretraining)
            or "still_parameters_constrained" in constraint.quirks
        ]
        self._active_blocks = [
            block for block in self.blocks if pretraining or not block.is_pretraining
        ]
        self._penalized = [
            span
            for span in spans
            if span.role.penalty != Penalty() and not _is_still(span.role, pretraining)
        ]
        self._segments = cut_segments(
            self._active_blocks, self._averaged, self._penalized
        )
        self._joint: JointSegments | None = None
        self._normalizes = any(item.normalization != "none" for item in layer_spans)

    @property
    def state_size(self) -> int:
        """Number of elements of the updater state."""
        return self.blocks[-1].state_stop if self.blocks else 0

    @property
    def n_params(self) -> int:
        """Number of parameters."""
        return self._layout.size

    @cached_property
    def can_be_held(self) -> bool:
        """Whether a step is nothing but updaters, which a device may leave out."""
        does_more = self._normalizes or self._penalized or self._constrained
        are_known = all(is_known(block.updater) for block in self.blocks)
        return are_known and not does_more

    def initialize_state(self, updater_state: FloatArray) -> None:
        """Write the state, shape (n_state,), that the updaters begin with."""
        for block in self.blocks:
            initialize_state(block, updater_state)

    def average(self, gradients: FloatArray, n_examples: int) -> None:
        """Divide sums over examples, (n_params,), by their number, in place.

        Running statistics stay as they are.
        """
        if n_examples == 1:
            return
        for part in self._averaged:
            gradients[part] /= n_examples

    def update(
        self,
        gradients: FloatArray,
        params: FloatArray,
        updater_state: FloatArray,
        *,
        iteration: int,
        workspace: Workspace,
        epoch: int = 0,
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
        iteration, epoch : int
            Iterations and epochs done before this one, for schedules and for the
            correction of bias of Adam and its relatives.
        workspace : Workspace
            Gives one small scratch buffer.
        """
        for role in self._still:
            role.part(gradients)[...] = 0
        for layer_span in self._layer_spans:
            _normalize(layer_span, gradients)
        now = (iteration, epoch)
        for span in self._penalized:
            if span.role.penalty.acts_on_gradient:
                penalize(span, gradients, params, workspace, now, is_decay=False)
        for block in self._active_blocks:
            apply_updater(
                block,
                gradients,
                updater_state,
                iteration=iteration,
                epoch=epoch,
                workspace=workspace,
            )
        for span in self._penalized:
            if span.role.penalty.acts_on_update:
                penalize(span, gradients, params, workspace, now, is_decay=True)

    def step(
        self,
        gradients: FloatArray,
        params: FloatArray,
        updater_state: FloatArray,
        *,
        n_examples: int,
        iteration: int,
        workspace: Workspace,
        epoch: int = 0,
        others: Sequence[FloatArray] = (),
        held: Any = None,
    ) -> None:
        """Do :meth:`average` and :meth:`update`, and subtract the update.

        Parameters
        ----------
        gradients : ndarray of shape (n_params,)
            Sums over the examples; overwritten by the update.
        params : ndarray of shape (n_params,)
            The update is subtracted.
        updater_state, iteration, epoch, workspace
            As for :meth:`update`.
        n_examples : int
            What the sums are divided by.
        others : sequence of ndarray of shape (n_params,)
            Sums over further examples, that count too.
        held : ndarray of CuPy of shape (1,), int32, optional
            Unless it is 0 when a device gets there, nothing is done. Only if
            :attr:`can_be_held`.

        Notes
        -----
        One pass over memory unless gradients are normalised, and the same numbers bit
        for bit.
        """
        on_host = isinstance(gradients, np.ndarray)
        if self._normalizes or not (on_host or is_on_device(gradients)):
            for other in others:
                gradients += other
            self.average(gradients, n_examples)
            self.update(
                gradients,
                params,
                updater_state,
                iteration=iteration,
                epoch=epoch,
                workspace=workspace,
            )
            params -= gradients
            return
        for role in self._still:
            role.part(gradients)[...] = 0
        if self.can_be_held and not on_host and not others:
            if self._joint is None:
                self._joint = JointSegments(self._segments, gradients)
            self._joint.step(
                gradients,
                params,
                updater_state,
                n_examples=n_examples,
                iteration=iteration,
                epoch=epoch,
                held=held,
            )
            return
        for segment in self._segments:
            step_segment(
                segment,
                gradients,
                params,
                updater_state,
                n_examples=n_examples,
                iteration=iteration,
                epoch=epoch,
                workspace=workspace,
                others=others,
            )

    def constrain(self, params: FloatArray) -> None:
        """Make the parameters satisfy their constraints, after an update.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Changed in place.
        """
        for role, constraint in self._constrained:
            apply_constraint(constraint, role.file_view(params))

    def regularization_score(
        self, params: FloatArray, *, iteration: int = 0, epoch: int = 0
    ) -> float:
        """Return the sum of the penalties, L1, L2 and weight decay, in the score.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Before the update.
        iteration, epoch : int
            Iterations and epochs done before this one, for schedules.
        """
        return sum(
            score_term(role.scored, role.part(params), iteration=iteration, epoch=epoch)
            for role in self._active
            if role.scored != Penalty()
        )

    def state_order(
        self, slot_names: Sequence[str], positions: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return where each number of a file's updater state lies in ours.

        Parameters
        ----------
        slot_names : sequence of str
            All parameters in the order of the file's flat vector, layer by layer.
        positions : ndarray of shape (n_params,), int64
            Where each number of the file's flat vector lies in the one here.

        Returns
        -------
        order : ndarray of shape (n_state,), int64
            ``updater_state[order]`` is the file's state, and ``updater_state[order] =
            values`` takes it over.

        References
        ----------
        DL4J, ``org.deeplearning4j.nn.updater.BaseMultiLayerUpdater``: blocks of equal
        updaters, and in a block one part of the state behind the other.
        """
        ours = self.state_indices()
        order = [
            ours[part, positions[block.start : block.stop]]
            for block in _join_blocks(self._file_spans(slot_names))
            for part in range(block.n_parts)
        ]
        return np.concatenate([np.empty(0, np.int64), *order])

    def state_indices(self) -> NDArray[np.int64]:
        """Return where part and parameter lie in the state, -1 for nowhere.

        Returns
        -------
        indices : ndarray of shape (n_parts of the most, n_params), int64
        """
        most = max((block.n_parts for block in self.blocks), default=0)
        indices = np.full((most, self._layout.size), -1, np.int64)
        for block in self.blocks:
            state = np.arange(block.state_start, block.state_stop)
            part = indices[: block.n_parts, block.start : block.stop]
            part[...] = state.reshape(block.n_parts, block.size)
        return indices

    def _file_spans(self, slot_names: Sequence[str]) -> list[ParamSpan]:
        """Return the span of each updater in the file's flat vector."""
        layers: dict[int, list[ParamRole]] = {}
        owners = {
            role.slot.name: (layer, role)
            for layer, layer_span in enumerate(self._layer_spans)
            for role in layer_span.roles
        }
        for name in slot_names:
            layer, role = owners[name]
            layers.setdefault(layer, []).append(role)
        spans: list[ParamSpan] = []
        for layer, roles in layers.items():
            start = spans[-1].stop if spans else 0
            in_order = self._layer_spans[layer].in_table_order(roles)
            spans += consecutive_spans(in_order, start, layer)
        return spans


def _is_still(role: ParamRole, pretraining: bool) -> bool:
    return role.is_frozen or (role.is_pretraining and not pretraining)


def _join_blocks(spans: Sequence[ParamSpan]) -> list[UpdaterBlock]:
    """Join consecutive spans of equal updaters; the state follows block order."""
    blocks: list[UpdaterBlock] = []
    previous: ParamSpan | None = None
    for span in spans:
        start, role = span.start, span.role
        state_start = blocks[-1].state_stop if blocks else 0
        if previous is not None and _belong_together(previous, span):
            last = blocks.pop()
            start, state_start = last.start, last.state_start
        blocks.append(
            UpdaterBlock(
                role.updater, start, span.stop, state_start, role.is_pretraining
            )
        )
        previous = span
    return blocks


def _belong_together(first: ParamSpan, second: ParamSpan) -> bool:
    if first.stop != second.start or first.role.updater != second.role.updater:
        return False
    if first.role.is_pretraining or second.role.is_pretraining:
        both = first.role.is_pretraining and second.role.is_pretraining
        return both and first.layer == second.layer
    return True


def _join(roles: Sequence[ParamRole]) -> list[slice]:
    """Return where parameters lie, neighbours in one."""
    joined: list[slice] = []
    for role in roles:
        start, stop = role.slot.offset, role.slot.stop
        if joined and joined[-1].stop == start:
            start = joined.pop().start
        joined.append(slice(start, stop))
    return joined


def _normalize(layer_span: LayerSpan, gradients: FloatArray) -> None:
    if layer_span.normalization == "none":
        return
    roles = [
        role
        for role in layer_span.roles
        if layer_span.normalizes_running or not role.is_running
    ]
    normalize_gradient(
        layer_span.normalization,
        layer_span.threshold,
        [gradients[part] for part in _join(roles)],
        [role.part(gradients) for role in roles],
    )


def penalize(
    span: ParamSpan,
    gradients: FloatArray,
    params: FloatArray,
    workspace: Workspace,
    now: tuple[int, int],
    *,
    is_decay: bool,
) -> None:
    """Add L1 and L2 to the gradient or, if `is_decay`, weight decay to the update.

    `gradients` and `params` are of shape (n_params,), the former is changed in place;
    `now` is iteration and epoch, for schedules.
    """
    penalty = span.role.penalty
    iteration, epoch = now
    rate = learning_rate(span.role.updater, iteration, epoch)
    for start in range(span.start, span.stop, PIECE):
        part = slice(start, min(start + PIECE, span.stop))
        g, w = gradients[part], params[part]
        scratch = workspace.take("updater", g.shape, g.dtype)
        if is_decay:
            add_to_update(
                penalty,
                g,
                w,
                scratch,
                learning_rate=rate,
                iteration=iteration,
                epoch=epoch,
            )
        else:
            add_to_gradient(penalty, g, w, scratch, iteration=iteration, epoch=epoch)
