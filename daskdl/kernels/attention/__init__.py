"""Scaled dot-product attention, and the projections in front of its heads.

All arrays have an axis of heads: (batch, heads, time, size). A recurrent layer that
looks back at its whole input calls the same pair once a step.
"""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.attention import reference


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
    return reference.attention_forward(
        queries, keys, values, mask, weights, out, shifts_masked=shifts_masked
    )


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
    reference.attention_backward(
        grad_out,
        queries,
        keys,
        values,
        weights,
        work,
        grad_queries,
        grad_keys,
        grad_values,
    )


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
    return reference.heads_forward(x, weight, out)


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
    return reference.heads_backward(grad_heads, x, weight, grad_weight, grad_x)
