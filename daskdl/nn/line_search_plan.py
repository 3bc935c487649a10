"""What searches along lines need: derivatives, and the rest of an update."""

from collections.abc import Sequence

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.param_roles import LayerStretch
from daskdl.nn.update_plan import penalize


class LineSearchPlan:
    """Parameters that a line search changes, and the updates left to do behind it.

    Parameters
    ----------
    stretches : sequence of LayerStretch
        The layers that have parameters, in layout order.
    """

    def __init__(self, stretches: Sequence[LayerStretch]) -> None:
        roles = [role for stretch in stretches for role in stretch.roles]
        learning = [role for role in roles if not role.is_pretraining]
        self._searched = [role for role in learning if role.is_updated]
        self._direct = [
            role for role in learning if not role.is_updated and not role.is_frozen
        ]
        self._shares = [
            share
            for layer, stretch in enumerate(stretches)
            for share in stretch.shares(layer)
            if share.role in self._searched
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
        for share in self._shares:
            if share.role.penalty.acts_on_gradient:
                penalize(share, slope, params, workspace, now, is_decay=False)
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
        for share in self._shares:
            if share.role.penalty.acts_on_update:
                penalize(share, gradients, params, workspace, now, is_decay=True)
        for role in (*self._searched, *self._direct):
            part = role.part(params)
            part -= role.part(gradients)
