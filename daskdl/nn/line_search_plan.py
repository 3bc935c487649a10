"""Derivatives for line searches, and the updates that these leave to do."""

from collections.abc import Sequence

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.param_roles import LayerSpan
from daskdl.nn.update_plan import penalize


class LineSearchPlan:
    """Parameters that a line search changes, and the updates left to do behind it.

    Parameters
    ----------
    layer_spans : sequence of LayerSpan
        The layers that have parameters, in layout order.
    """

    def __init__(self, layer_spans: Sequence[LayerSpan]) -> None:
        roles = [role for layer_span in layer_spans for role in layer_span.roles]
        learning = [role for role in roles if not role.is_pretraining]
        self._searched = [role for role in learning if role.is_updated]
        self._direct = [
            role for role in learning if not role.is_updated and not role.is_frozen
        ]
        self._spans = [
            span
            for layer, layer_span in enumerate(layer_spans)
            for span in layer_span.spans(layer)
            if span.role in self._searched
        ]

    def slope(
        self,
        gradients: FloatArray,
        params: FloatArray,
        *,
        iteration: int,
        epoch: int,
        workspace: Workspace,
    ) -> FloatArray:
        """Return the derivative of the score.

        Parameters
        ----------
        gradients, params : ndarray of shape (n_params,)
            Means over the examples, and where they were computed. Not changed.
        iteration, epoch : int
            At which schedules of L1 and L2 are read.
        workspace : Workspace
            Gives one small scratch buffer.

        Returns
        -------
        slope : ndarray of shape (n_params,)
            A new array, 0 where no search is for.
        """
        slope: FloatArray = array_namespace(gradients).zeros_like(gradients)
        for role in self._searched:
            role.part(slope)[...] = role.part(gradients)
        now = (iteration, epoch)
        for span in self._spans:
            if span.role.penalty.acts_on_gradient:
                penalize(span, slope, params, workspace, now, is_decay=False)
        return slope

    def settle(
        self,
        gradients: FloatArray,
        params: FloatArray,
        *,
        iteration: int,
        epoch: int,
        workspace: Workspace,
    ) -> None:
        """Subtract running differences and weight decay from the parameters.

        Parameters
        ----------
        gradients, params : ndarray of shape (n_params,)
            Means over the examples behind the search; both are overwritten.
        iteration, epoch, workspace
            As for :meth:`slope`.
        """
        for role in self._searched:
            role.part(gradients)[...] = 0
        now = (iteration, epoch)
        for span in self._spans:
            if span.role.penalty.acts_on_update:
                penalize(span, gradients, params, workspace, now, is_decay=True)
        for role in (*self._searched, *self._direct):
            part = role.part(params)
            part -= role.part(gradients)
