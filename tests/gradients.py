"""The check of every gradient: central differences on the flat vector."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def check_gradient(
    loss_and_grad: Callable[[Vector], tuple[float, Vector]],
    params: Vector,
    *,
    loss: Callable[[Vector], float] | None = None,
    step: float = 1e-6,
    rtol: float = 1e-6,
) -> None:
    """Fail with the worst coordinate if a gradient is wrong.

    Beyond 500 parameters 32 random directions are compared instead of coordinates.
    Keep inputs a step away from kinks (relu at 0, ties in pooling). `loss` is the loss
    alone, for where the gradient, which differences do not need, takes long.
    """
    assert params.dtype == np.float64, "float32 noise hides real mistakes"
    grad = loss_and_grad(params)[1].copy()
    loss_of = loss or (lambda vector: loss_and_grad(vector)[0])
    directions = _directions(params.size)
    for index, direction in enumerate(directions):
        above = loss_of(params + step * direction)
        below = loss_of(params - step * direction)
        numeric = (above - below) / (2 * step)
        analytic = float(grad @ direction)
        error = abs(analytic - numeric) / max(1.0, abs(analytic) + abs(numeric))
        assert error < rtol, (
            f"direction {index} of {len(directions)}: gradient {analytic:.9g}, "
            f"central difference {numeric:.9g}"
        )


def _directions(size: int) -> NDArray[np.float64]:
    if size <= 500:
        return np.eye(size)
    directions = np.random.default_rng(5).standard_normal((32, size))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)
