"""Pooling over all cells of an example: time steps, pixels or voxels."""

from typing import Any, Literal

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.global_pooling import cpu, gpu

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
    if _is_compiled_for(x, mask, out):
        cpu.max_forward(x, mask, out, winner)
        return out
    if gpu.takes(x, mask, out, winner):
        gpu.max_forward(x, out, winner)
        return out
    xp = array_namespace(x)
    if mask is None:
        xp.argmax(x, axis=1, out=winner)
        xp.max(x, axis=1, out=out)
        return out
    kept = mask > 0
    candidates = workspace.take("global_pooling.terms", x.shape, x.dtype)
    xp.copyto(candidates, x)
    xp.copyto(candidates, -xp.inf, where=~kept[:, :, None])
    xp.argmax(candidates, axis=1, out=winner)
    xp.max(candidates, axis=1, out=out)
    out[~xp.any(kept, axis=1)] = 0
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
    if _is_compiled_for(grad_out, mask, grad_x):
        cpu.max_backward(grad_out, winner, mask, grad_x)
        return grad_x
    if gpu.takes(grad_x, mask, grad_out, winner):
        gpu.max_backward(grad_out, winner, grad_x)
        return grad_x
    xp = array_namespace(grad_out)
    batch, channels = grad_out.shape
    grad_x.fill(0)
    examples = xp.arange(batch)[:, None]
    grad_x[examples, winner, xp.arange(channels)[None, :]] = grad_out
    if mask is not None:
        # Without any kept cell the winner is one that the mask dropped.
        grad_x *= (mask > 0)[:, :, None]
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
    if kind != "pnorm" and _is_compiled_for(x, mask, out):
        cpu.mean_forward(x, mask, cpu.divisors(x, kind, mask), out)
        return out
    if kind != "pnorm" and gpu.takes(x, mask, out):
        gpu.mean_forward(x, x.shape[1] if kind == "avg" else 1, out)
        return out
    xp = array_namespace(x)
    terms = x
    if kind == "pnorm" or mask is not None:
        terms = workspace.take("global_pooling.terms", x.shape, x.dtype)
    if kind == "pnorm":
        xp.power(xp.abs(x, out=terms), exponent, out=terms)
    if mask is not None:
        summands = terms if kind == "pnorm" else x
        xp.multiply(summands, mask[:, :, None], out=terms)
    xp.sum(terms, axis=1, out=out)
    if kind == "avg":
        out /= _counts(x, mask)
    elif kind == "pnorm":
        out **= 1 / exponent
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
    if kind != "pnorm" and _is_compiled_for(grad_out, mask, grad_x):
        cpu.mean_backward(grad_out, mask, cpu.divisors(x, kind, mask), grad_x)
        return grad_x
    if kind != "pnorm" and gpu.takes(grad_x, mask, grad_out):
        gpu.mean_backward(grad_out, x.shape[1] if kind == "avg" else 1, grad_x)
        return grad_x
    xp = array_namespace(grad_out)
    if kind == "avg":
        grad_x[...] = (grad_out / _counts(x, mask))[:, None, :]
    elif kind == "pnorm":
        # Where the norm is 0 every x is 0, and so is the gradient below.
        norm = xp.where(output > 0, output, output.dtype.type(1))
        scale = grad_out * norm ** (1 - exponent)
        powers = workspace.take("global_pooling.terms", x.shape, x.dtype)
        xp.power(xp.abs(x, out=powers), exponent - 1, out=powers)
        xp.multiply(xp.sign(x, out=grad_x), powers, out=grad_x)
        grad_x *= scale[:, None]
    else:
        grad_x[...] = grad_out[:, None, :]
    if mask is not None:
        grad_x *= mask[:, :, None]
    return grad_x


def _is_compiled_for(
    first: FloatArray, mask: FloatArray | None, other: FloatArray
) -> bool:
    arrays = (first, other) if mask is None else (first, other, mask)
    # Without cells NumPy has something to say.
    return bool(first.size and other.size) and is_compiled_for(*arrays)


def _counts(x: FloatArray, mask: FloatArray | None) -> Any:
    """Return by what an average divides, of shape (batch, 1) or a number."""
    if mask is None:
        return x.shape[1]
    xp = array_namespace(x)
    return xp.maximum(xp.sum(mask, axis=1, keepdims=True, dtype=x.dtype), 1)
