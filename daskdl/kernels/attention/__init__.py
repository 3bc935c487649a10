"""Scaled dot-product attention, and the projections in front of its heads.

All arrays have an axis of heads: (batch, heads, time, size). A recurrent layer that
looks back at its whole input calls the same pair once a step.
"""

import math

from daskdl.arrays.namespace import FloatArray, array_namespace

# What makes the share of a key 0, unless it is taken from all of them.
_SHIFT = 1e9


def attention_forward(
    queries: FloatArray,
    keys: FloatArray,
    values: FloatArray,
    mask: FloatArray | None,
    *,
    weights: FloatArray,
    out: FloatArray,
    shifts_masked: bool = False,
) -> FloatArray:
    """Compute ``softmax(queries @ keys.T / sqrt(size)) @ values`` over the kept keys.

    Parameters
    ----------
    queries : ndarray of shape (batch, heads, n_queries, size)
        Not changed.
    keys : ndarray of shape (batch, heads, time, size), same dtype
        Not changed.
    values : ndarray of shape (batch, heads, time, value_size), same dtype
        Not changed.
    mask : ndarray of shape (batch, time), same dtype, or None
        1 keeps a key, 0 drops it. Where all keys of an example are dropped, 0 comes
        out.
    weights : ndarray of shape (batch, heads, n_queries, time), same dtype
        Overwritten with what each key counts for each query: the rows of the softmax.
    out : ndarray of shape (batch, heads, n_queries, value_size), same dtype
        Overwritten.
    shifts_masked : bool
        Whether keys are dropped by adding ``(mask - 1) * 1e9`` to what the softmax
        gets: where all are dropped, all count.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762, equation 1 and
    section 3.2.3. The masking by a large number is that of ND4J's
    ``dot_product_attention``.
    """
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
    *,
    work: FloatArray,
    grad_queries: FloatArray,
    grad_keys: FloatArray,
    grad_values: FloatArray,
) -> None:
    """Compute the gradients of :func:`attention_forward`.

    Parameters
    ----------
    grad_out : ndarray like `out`
        Gradient of the loss in the output. Not changed.
    queries, keys, values, weights : ndarray
        What the forward pass saw and wrote. Not changed.
    work : ndarray like `weights`
        Overwritten.
    grad_queries, grad_keys, grad_values : ndarray like queries, keys and values
        Overwritten.
    """
    xp = array_namespace(grad_out)
    xp.matmul(weights.transpose(0, 1, 3, 2), grad_out, out=grad_values)
    xp.matmul(grad_out, values.transpose(0, 1, 3, 2), out=work)
    work *= weights
    work -= weights * work.sum(axis=3, keepdims=True)
    work /= math.sqrt(keys.shape[3])
    xp.matmul(work, keys, out=grad_queries)
    xp.matmul(work.transpose(0, 1, 3, 2), queries, out=grad_keys)


def heads_forward(x: FloatArray, weight: FloatArray, *, out: FloatArray) -> FloatArray:
    """Project series for each head: ``x @ weight[head].T``.

    Parameters
    ----------
    x : ndarray of shape (batch, time, n_in), C-contiguous
        Not changed.
    weight : ndarray of shape (heads, size, n_in), same dtype, C-contiguous
        DL4J's axes. Not changed.
    out : ndarray of shape (batch, time, heads, size), same dtype, C-contiguous
        Overwritten.

    Returns
    -------
    heads : ndarray of shape (batch, heads, time, size)
        A view of `out`.
    """
    xp = array_namespace(x)
    xp.matmul(_rows(x, 1), _rows(weight, 1).T, out=_rows(out, 2))
    heads: FloatArray = out.transpose(0, 2, 1, 3)
    return heads


def heads_backward(
    grad_heads: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    *,
    grad_weight: FloatArray,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`heads_forward`.

    Parameters
    ----------
    grad_heads : ndarray of shape (batch, time, heads, size), C-contiguous
        Gradient of the loss in what was overwritten. Not changed.
    x, weight : ndarray of shape (batch, time, n_in), (heads, size, n_in), same dtype
        What the forward pass saw. Not changed.
    grad_weight : ndarray of shape (heads, size, n_in), same dtype, C-contiguous
        Overwritten with the sum over examples and steps.
    grad_x : ndarray of shape (batch, time, n_in), same dtype, C-contiguous, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
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
