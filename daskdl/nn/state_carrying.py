"""The state of updaters, taken over by a network that deals its updaters otherwise."""

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.nn.conf.updaters import Updater
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
    kinds = {type(block.updater) for block in (*before.blocks, *after.blocks)}
    is_same = _numbered(before, [*kinds]) == _numbered(after, [*kinds])
    values, found = to_host(out).copy(), to_host(state)
    for old, new in zip(before.state_indices(), after.state_indices(), strict=False):
        kept = is_same & (old >= 0) & (new >= 0)
        values[new[kept]] = found[old[kept]]
    out[...] = to_device(values, like=out)


def _numbered(plan: UpdatePlan, kinds: list[type[Updater]]) -> NDArray[np.int64]:
    """Return the number of the kind of each parameter's updater, shape (n_params,)."""
    numbers = np.full(plan.n_params, -1, np.int64)
    for block in plan.blocks:
        numbers[block.start : block.stop] = kinds.index(type(block.updater))
    return numbers
