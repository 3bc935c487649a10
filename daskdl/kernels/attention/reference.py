"""The attention pair by the array library's own matrix products."""

import math

from daskdl.arrays.namespace import FloatArray, array_namespace

# What makes the share of a key 0, unless it is taken from all of them.
_SHIFT = 1e9


def attention_forward(
    queries: FloatArray,
    keys: FloatArray,
    values: FloatArray,
    mask: FloatArray | None,
    weights: FloatArray,
    out: FloatArray,
    *,
    shifts_masked: bool,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.attention.attention_forward` says."""
    xp = array_namespace(queries)
    xp.matmul(queries, keys.transpose(0, 1, 3, 2), out=weights)
    weights /= math.sqrt(keys.shape[3])
    if mask is not None:
        by_key = mask[:, None, None, :]
        if shifts_masked:
            weights += (by_key - 1) * _SHIFT
        else:
            # Those that are kept must not vanish next to a large one that is not.
            xp.copyto(weights, -_SHIFT, where=by_key == 0)
    weights -= weights.max(axis=3, keepdims=True)
    xp.exp(weights, out=weights)
    total = weights.sum(axis=3, keepdims=True)
    if mask is not None and not shifts_masked:
        weights *= by_key
        xp.sum(weights, axis=3, keepdims=True, out=total)
        total[total == 0] = 1
    weights /= total
    xp.matmul(weights, values, out=out)
    return out


def attention_backward(
    grad_out: FloatArray,
    queries: FloatArray,
    keys: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    work: FloatArray,
    grad_queries: FloatArray,
    grad_keys: FloatArray,
    grad_values: FloatArray,
) -> None:
    """Compute what :func:`daskdl.kernels.attention.attention_backward` says."""
    xp = array_namespace(grad_out)
    xp.matmul(weights.transpose(0, 1, 3, 2), grad_out, out=grad_values)
    xp.matmul(grad_out, values.transpose(0, 1, 3, 2), out=work)
    work *= weights
    work -= weights * work.sum(axis=3, keepdims=True)
    work /= math.sqrt(keys.shape[3])
    xp.matmul(work, keys, out=grad_queries)
    xp.matmul(work.transpose(0, 1, 3, 2), queries, out=grad_keys)


def heads_forward(x: FloatArray, weight: FloatArray, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.attention.heads_forward` says."""
    xp = array_namespace(x)
    xp.matmul(_rows(x, 1), _rows(weight, 1).T, out=_rows(out, 2))
    heads: FloatArray = out.transpose(0, 2, 1, 3)
    return heads


def heads_backward(
    grad_heads: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    grad_weight: FloatArray,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.attention.heads_backward` says."""
    xp = array_namespace(x)
    grads = _rows(grad_heads, 2)
    xp.matmul(grads.T, _rows(x, 1), out=_rows(grad_weight, 1))
    if grad_x is not None:
        xp.matmul(grads, _rows(weight, 1), out=_rows(grad_x, 1))
    return grad_x


def _rows(array: FloatArray, n_axes: int) -> FloatArray:
    """Return a contiguous array as a matrix whose rows are its last `n_axes` axes."""
    size = math.prod(array.shape[-n_axes:])
    n_rows = math.prod(array.shape[:-n_axes])
    return array.reshape(n_rows, size)
