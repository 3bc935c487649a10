"""Pooling over all cells of an example: time steps, pixels or voxels."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.global_pooling import cpu, reference

SumKind = Literal["sum", "avg", "pnorm"]


def global_max_forward(
    x: FloatArray,
    mask: FloatArray | None,
    workspace: Workspace,
    *,
    out: FloatArray,
    winner: NDArray[Any],
) -> FloatArray:
    """Compute the largest value over all cells.

    Parameters
    ----------
    x : ndarray of shape (batch, cells, channels)
        Not changed.
    mask : ndarray of shape (batch, cells), or None
        Cells with 0 never win; an example without any other comes out as 0.
    workspace : Workspace
        Lends scratch of the size of `x` if there is a mask.
    out : ndarray of shape (batch, channels), same dtype
        Overwritten.
    winner : ndarray of intp, shape (batch, channels)
        Overwritten with the cell that holds the maximum, the first one of equals.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if not _is_compiled_for(x, mask, out):
        return reference.global_max_forward(x, mask, workspace, out, winner)
    cpu.max_forward(x, mask, out, winner)
    return out


def global_max_backward(
    grad_out: FloatArray,
    winner: NDArray[Any],
    mask: FloatArray | None,
    *,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradient of :func:`global_max_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, channels)
        Gradient of the loss in the output. Not changed.
    winner, mask
        As the forward pass left them.
    grad_x : ndarray of shape (batch, cells, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    if not _is_compiled_for(grad_out, mask, grad_x):
        return reference.global_max_backward(grad_out, winner, mask, grad_x)
    cpu.max_backward(grad_out, winner, mask, grad_x)
    return grad_x


def global_sum_forward(
    x: FloatArray,
    kind: SumKind,
    exponent: int,
    mask: FloatArray | None,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Compute sum, average or p-norm over all cells.

    Parameters
    ----------
    x : ndarray of shape (batch, cells, channels)
        Not changed.
    kind : {"sum", "avg", "pnorm"}
        The average divides by the cells that the mask keeps; the p-norm is
        ``(sum |x|^p)^(1/p)``.
    exponent : int
        p of the p-norm; the others do not use it.
    mask : ndarray of shape (batch, cells), or None
        Cells with 0 do not count; an example without any other comes out as 0.
    workspace : Workspace
        Lends scratch of the size of `x` for the p-norm, or if there is a mask.
    out : ndarray of shape (batch, channels), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if kind == "pnorm" or not _is_compiled_for(x, mask, out):
        return reference.global_sum_forward(x, kind, exponent, mask, workspace, out)
    cpu.mean_forward(x, mask, _divisors(x, kind, mask), out)
    return out


def global_sum_backward(
    grad_out: FloatArray,
    x: FloatArray,
    output: FloatArray,
    kind: SumKind,
    exponent: int,
    mask: FloatArray | None,
    workspace: Workspace,
    *,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradient of :func:`global_sum_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, channels)
        Gradient of the loss in the output. Not changed.
    x, output, kind, exponent, mask
        As in the forward pass. Not changed.
    workspace : Workspace
        Lends scratch of the size of `x` for the p-norm.
    grad_x : ndarray like x
        Overwritten. The p-norm's gradient at 0 is 0.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    if kind == "pnorm" or not _is_compiled_for(grad_out, mask, grad_x):
        return reference.global_sum_backward(
            grad_out, x, output, kind, exponent, mask, workspace, grad_x
        )
    cpu.mean_backward(grad_out, mask, _divisors(x, kind, mask), grad_x)
    return grad_x


def _is_compiled_for(
    first: FloatArray, mask: FloatArray | None, other: FloatArray
) -> bool:
    arrays = (first, other) if mask is None else (first, other, mask)
    # Without cells the twin has something to say.
    return bool(first.size and other.size) and is_compiled_for(*arrays)


def _divisors(x: FloatArray, kind: SumKind, mask: FloatArray | None) -> FloatArray:
    """Return by what the sums are divided, (batch,)."""
    if kind == "avg" and mask is not None:
        counts: FloatArray = np.maximum(mask.sum(axis=1, dtype=x.dtype), 1)
        return counts
    return np.full(len(x), x.shape[1] if kind == "avg" else 1, x.dtype)
