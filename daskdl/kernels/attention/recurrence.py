"""Recurrent attention: each output asks, the whole input answers."""

import math

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.attention import (
    attention_backward,
    attention_forward,
    heads_backward,
    heads_forward,
)
from daskdl.kernels.attention.trace import (
    RecurrentAttentionTrace,
    RecurrentAttentionWeights,
)
from daskdl.kernels.recurrent.trace import ActivationPair


def recurrent_attention_forward(
    x: FloatArray,
    weights: RecurrentAttentionWeights,
    activation: ActivationPair,
    trace: RecurrentAttentionTrace,
    workspace: Workspace,
    *,
    mask: FloatArray | None,
    out: FloatArray,
    shifts_masked: bool = False,
) -> FloatArray:
    """Compute ``y[t] = activation(x[t] W + attention(y[t-1], x, x) RW + b)``.

    Parameters
    ----------
    x : ndarray of shape (batch, time, n_in)
        Not changed.
    weights : RecurrentAttentionWeights
        Not changed.
    activation : activation function
        Of the outputs.
    trace : RecurrentAttentionTrace
        Overwritten; the backward pass reads it.
    workspace : Workspace
        Lends what is forgotten again.
    mask : ndarray of shape (batch, time), same dtype, or None
        1 keeps, 0 drops a step as answer.
    out : ndarray of shape (batch, time, n_out), same dtype
        Overwritten.
    shifts_masked : bool
        As of :func:`daskdl.kernels.attention.attention_forward`.

    Returns
    -------
    out : ndarray
        The array that was given.

    Notes
    -----
    The first step has nothing to ask with: its output is ``activation(x[0] W + b)``.

    References
    ----------
    DL4J, ``RecurrentAttentionLayer.defineLayer``.
    """
    xp = array_namespace(x)
    keys = _heads(x, weights.key, trace.keys)
    values = _heads(x, weights.value, trace.values)
    xp.copyto(trace.x, x.transpose(1, 0, 2))
    xp.matmul(trace.x, weights.weight, out=trace.preout)
    if weights.bias is not None:
        xp.add(trace.preout, weights.bias, out=trace.preout)
    product = workspace.take("attention.product", trace.preout.shape[1:], x.dtype)
    for step, preout in enumerate(trace.preout):
        if step:
            before = trace.output[step - 1][:, None]
            attention_forward(
                _heads(before, weights.query, trace.queries[step]),
                keys,
                values,
                mask,
                weights=trace.weights[step],
                out=_heads_first(trace.context[step]),
                shifts_masked=shifts_masked,
            )
            _leave_heads(trace.context[step], weights.way_out, trace.attended[step])
            xp.matmul(trace.attended[step], weights.recurrent_weight, out=product)
            preout += product
        activation.forward(preout, out=trace.output[step])
    xp.copyto(out, trace.output.transpose(1, 0, 2))
    return out


def recurrent_attention_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weights: RecurrentAttentionWeights,
    activation: ActivationPair,
    trace: RecurrentAttentionTrace,
    workspace: Workspace,
    *,
    grads: RecurrentAttentionTrace,
    gradients: RecurrentAttentionWeights,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`recurrent_attention_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, time, n_out)
        Gradient of the loss in the output. Not changed.
    x, weights, activation, trace
        What the forward pass saw and wrote. Not changed.
    workspace : Workspace
        Lends what is forgotten again.
    grads : RecurrentAttentionTrace
        Overwritten: gradients of the trace, `x` excepted.
    gradients : RecurrentAttentionWeights
        Overwritten with sums over examples and steps.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    grads.keys.fill(0)
    grads.values.fill(0)
    grads.output[-1] = 0
    for step in reversed(range(len(trace.output))):
        grads.output[step] += grad_out[:, step]
        activation.backward(
            grads.output[step],
            trace.preout[step],
            trace.output[step],
            out=grads.preout[step],
        )
        if step:
            _step_backward(step, x, weights, trace, workspace, grads)
    _weights_backward(trace, grads, gradients)
    return _input_backward(x, weights, workspace, grads, gradients, grad_x)


def _step_backward(
    step: int,
    x: FloatArray,
    weights: RecurrentAttentionWeights,
    trace: RecurrentAttentionTrace,
    workspace: Workspace,
    grads: RecurrentAttentionTrace,
) -> None:
    """Take a step's gradient back through its question to the output before it."""
    xp = array_namespace(x)
    attended = grads.attended[step]
    xp.matmul(grads.preout[step], weights.recurrent_weight.T, out=attended)
    context = _rows(grads.context[step])
    _back(attended, None if weights.way_out is None else weights.way_out.T, context)
    grad_keys = workspace.take("attention.keys", grads.keys.shape, x.dtype)
    grad_values = workspace.take("attention.values", grads.values.shape, x.dtype)
    before = trace.output[step - 1][:, None]
    attention_backward(
        _heads_first(grads.context[step]),
        before[:, None] if weights.query is None else _heads_first(trace.queries[step]),
        x[:, None] if weights.key is None else _heads_first(trace.keys),
        x[:, None] if weights.value is None else _heads_first(trace.values),
        trace.weights[step],
        work=grads.weights[step],
        grad_queries=_heads_first(grads.queries[step]),
        grad_keys=_heads_first(grad_keys),
        grad_values=_heads_first(grad_values),
    )
    xp.add(grads.keys, grad_keys, out=grads.keys)
    xp.add(grads.values, grad_values, out=grads.values)
    _back(_rows(grads.queries[step]), _stacked(weights.query), grads.output[step - 1])


def _weights_backward(
    trace: RecurrentAttentionTrace,
    grads: RecurrentAttentionTrace,
    gradients: RecurrentAttentionWeights,
) -> None:
    """Write the gradients of all that multiplies a step or what it asks."""
    xp = array_namespace(trace.x)
    preout = _steps(grads.preout)
    xp.matmul(_steps(trace.x).T, preout, out=gradients.weight)
    if gradients.bias is not None:
        xp.sum(preout, axis=0, out=gradients.bias)
    asked = slice(1, None)
    xp.matmul(
        _steps(trace.attended[asked]).T,
        _steps(grads.preout[asked]),
        out=gradients.recurrent_weight,
    )
    if gradients.way_out is None or gradients.query is None:
        return
    xp.matmul(
        _steps(trace.context[asked]).T,
        _steps(grads.attended[asked]),
        out=gradients.way_out,
    )
    n_out = trace.output.shape[2]
    xp.matmul(
        _steps(grads.queries[asked]).T,
        _steps(trace.output[:-1]),
        out=gradients.query.reshape(-1, n_out),
    )


def _input_backward(
    x: FloatArray,
    weights: RecurrentAttentionWeights,
    workspace: Workspace,
    grads: RecurrentAttentionTrace,
    gradients: RecurrentAttentionWeights,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Add up the gradients of the input as itself, as keys and as values."""
    xp = array_namespace(x)
    if grad_x is not None:
        xp.matmul(grads.preout, weights.weight.T, out=grads.x)
        xp.copyto(grad_x, grads.x.transpose(1, 0, 2))
    for grad_heads, weight, gradient in (
        (grads.keys, weights.key, gradients.key),
        (grads.values, weights.value, gradients.value),
    ):
        part = None
        if weight is None or gradient is None:
            part = grad_heads.reshape(x.shape)
        else:
            if grad_x is not None:
                part = workspace.take("attention.x", x.shape, x.dtype)
            heads_backward(grad_heads, x, weight, grad_weight=gradient, grad_x=part)
        if grad_x is not None:
            xp.add(grad_x, part, out=grad_x)
    return grad_x


def _heads(x: FloatArray, weight: FloatArray | None, out: FloatArray) -> FloatArray:
    """Return an input as (batch, heads, time, size): projected, or its only head."""
    return x[:, None] if weight is None else heads_forward(x, weight, out=out)


def _leave_heads(
    context: FloatArray, way_out: FloatArray | None, out: FloatArray
) -> None:
    """Write the output of the heads, projected or as it is, as rows."""
    _back(_rows(context), way_out, out)


def _back(rows: FloatArray, weight: FloatArray | None, out: FloatArray) -> None:
    """Write rows times a weight, or the rows themselves."""
    xp = array_namespace(rows)
    if weight is None:
        xp.copyto(out, rows)
    else:
        xp.matmul(rows, weight, out=out)


def _stacked(weight: FloatArray | None) -> FloatArray | None:
    """Return the projections of all heads as one matrix."""
    return None if weight is None else weight.reshape(-1, weight.shape[2])


def _heads_first(array: FloatArray) -> FloatArray:
    """Return (batch, time, heads, size) as (batch, heads, time, size)."""
    heads: FloatArray = array.transpose(0, 2, 1, 3)
    return heads


def _rows(array: FloatArray) -> FloatArray:
    """Return (batch, ...) as one row for each example."""
    return array.reshape(len(array), math.prod(array.shape[1:]))


def _steps(array: FloatArray) -> FloatArray:
    """Return (time, batch, ...) as one row for each step of each example."""
    steps, batch = array.shape[:2]
    return array.reshape(steps * batch, math.prod(array.shape[2:]))
