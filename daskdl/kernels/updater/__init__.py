"""From gradients to updates, elementwise over flat vectors: one pass over memory.

The rules themselves, with their formulas and where they come from, are in
:mod:`daskdl.nn.updaters`; here is their arithmetic.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import are_rows_on_device, is_compiled_for
from daskdl.kernels.updater import cpu, gpu, rules

# Gradient, parameter, two states and scratch of 16384 float64 are 640 KiB: they fit a
# level-2 cache, and the calls of NumPy cost nothing beside the work.
PIECE = 16_384


class Rule(NamedTuple):
    """What an updater does in one iteration.

    Parameters
    ----------
    name : str
        Of a function of :mod:`.rules` and of :mod:`.cpu`.
    numbers : tuple of numpy floats
        What the function takes besides vectors, of the type of the vectors.
    function : function of (gradient, state), optional
        Overwrites the gradient by the update and brings the state forward, in place of
        those of the package.
    """

    name: str
    numbers: tuple[np.floating[Any], ...] = ()
    function: Callable[[FloatArray, FloatArray], None] | None = None


def update(
    rule: Rule,
    gradient: FloatArray,
    state: FloatArray,
    workspace: Workspace,
    *,
    divisor: int = 1,
    params: FloatArray | None = None,
) -> None:
    """Turn a gradient into an update, in place, and subtract it if asked.

    Parameters
    ----------
    rule : Rule
        Which updater, and its numbers now.
    gradient : ndarray of shape (n,), float32 or float64
        Divided by `divisor` and overwritten by the update.
    state : ndarray of shape (n_parts, n), same dtype
        Brought forward.
    workspace : Workspace
        Lends scratch where no compiled code runs.
    divisor : int
        The number of examples that the gradient is a sum over.
    params : ndarray of shape (n,), same dtype, optional
        The update is subtracted from it.

    Notes
    -----
    Every operation is rounded by itself. So the numbers are the same whether or not the
    division and the subtraction are done along the way, and by whichever kernel; but
    for states that have decayed below the normal numbers, which compiled ones take for
    0.
    """
    arrays = (gradient, *state) if params is None else (gradient, *state, params)
    if rule.function is not None:
        if divisor != 1:
            gradient /= divisor
        rule.function(gradient, state)
        if params is not None:
            params -= gradient
        return
    if is_compiled_for(*arrays):
        kernel = getattr(cpu, rule.name)
        by = gradient.dtype.type(divisor)
        kernel(gradient, *state, *rule.numbers, by, params)
        return
    if are_rows_on_device(*arrays):
        gpu.update(
            rule.name,
            gradient,
            tuple(state),
            rule.numbers,
            divisor=divisor,
            params=params,
        )
        return
    # On a GPU one launch over everything is the fast way.
    on_host = array_namespace(gradient) is np
    piece = PIECE if on_host else max(1, gradient.size)
    apply = getattr(rules, rule.name)
    for start in range(0, gradient.size, piece):
        part = slice(start, start + piece)
        g = gradient[part]
        if divisor != 1:
            g /= divisor
        scratch = workspace.take("updater", g.shape, g.dtype)
        apply(g, *state[:, part], *rule.numbers, scratch)
        if params is not None:
            params[part] -= g
