"""The check of every gradient: central differences on the flat vector."""

from collections.abc import Callable

import numpy as np

from daskdl.testing import Vector, largest_difference


def check_gradient(
    loss_and_grad: Callable[[Vector], tuple[float, Vector]],
    params: Vector,
    *,
    loss: Callable[[Vector], float] | None = None,
    step: float = 1e-6,
    rtol: float = 1e-6,
) -> None:
    """Fail with the worst coordinate if a gradient is wrong.

    Keep inputs a step away from kinks (relu at 0, ties in pooling). `loss` is the loss
    alone, for where the gradient, which differences do not need, takes long.
    """
    assert params.dtype == np.float64, "float32 noise hides real mistakes"
    grad = loss_and_grad(params)[1].copy()
    loss_of = loss or (lambda vector: loss_and_grad(vector)[0])
    worst = largest_difference(grad, lambda change: loss_of(params + change), step=step)
    assert worst.error < rtol, str(worst)
