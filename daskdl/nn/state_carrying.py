"""The state of updaters, taken over by a network that deals its updaters otherwise."""

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.nn.conf.updaters import UPDATERS
from daskdl.nn.update_plan import UpdatePlan


def carry_state(
    before: UpdatePlan, state: FloatArray, after: UpdatePlan, out: FloatArray
) -> None:
    """Give each parameter the state that it had, if its updater is of the same kind.

    Parameters
    ----------
    before, after : UpdatePlan
        Of the same parameters.
    state : ndarray of shape (n_state before,)
        Not changed.
    out : ndarray of shape (n_state after,)
        What no state is for stays as it is.
    """
    if before.blocks == after.blocks:
        out[...] = state
        return
    is_same = _kinds(before) == _kinds(after)
    values, found = to_host(out).copy(), to_host(state)
    for old, new in zip(before.state_indices(), after.state_indices(), strict=False):
        kept = is_same & (old >= 0) & (new >= 0)
        values[new[kept]] = found[old[kept]]
    out[...] = to_device(values, like=out)


def _kinds(plan: UpdatePlan) -> NDArray[np.int64]:
    """Return the kind of the updater of each parameter, shape (n_params,)."""
    kinds = np.full(plan.n_params, -1, np.int64)
    for block in plan.blocks:
        kinds[block.start : block.stop] = UPDATERS.index(type(block.updater))
    return kinds
