"""Global pooling by whole-array expressions."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace


def global_max_forward(
    x: FloatArray,
    mask: FloatArray | None,
    workspace: Workspace,
    out: FloatArray,
    winner: NDArray[Any],
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.global_pooling.global_max_forward` says."""
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
    grad_x: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.global_pooling.global_max_backward` says."""
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
    kind: str,
    exponent: int,
    mask: FloatArray | None,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.global_pooling.global_sum_forward` says."""
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
    kind: str,
    exponent: int,
    mask: FloatArray | None,
    workspace: Workspace,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.global_pooling.global_sum_backward` says."""
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


def _counts(x: FloatArray, mask: FloatArray | None) -> Any:
    """Return by what an average divides, of shape (batch, 1) or a number."""
    if mask is None:
        return x.shape[1]
    xp = array_namespace(x)
    return xp.maximum(xp.sum(mask, axis=1, keepdims=True, dtype=x.dtype), 1)
