"""The simplest recurrent layer over whole series, and its gradient through time."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.layer_norm import layer_norm_backward, layer_norm_forward
from daskdl.kernels.products import matmul
from daskdl.kernels.recurrent.trace import ActivationPair
from daskdl.kernels.simple_rnn.weights import (
    NormTrace,
    SimpleRnnTrace,
    SimpleRnnWeights,
)


def simple_rnn_forward(
    x: FloatArray,
    weights: SimpleRnnWeights,
    activation: ActivationPair,
    trace: SimpleRnnTrace,
    workspace: Workspace,
    *,
    out: FloatArray | None,
    mask: FloatArray | None = None,
    state: FloatArray | None = None,
) -> FloatArray | None:
    """Run ``h[t] = activation(x[t] @ weight + h[t-1] @ recurrent_weight + bias)``.

    With layer normalization, where ``norm`` is that of
    :func:`daskdl.kernels.layer_norm.layer_norm_forward`::

        h[t] = activation(
            gains[0] * norm(x[t] @ weight)
            + gains[1] * norm(h[t-1] @ recurrent_weight) + bias)

    Where there is a mask, h[t] is then multiplied by its column of the step.

    Parameters
    ----------
    x : ndarray of shape (batch, time, n_in)
        Not changed.
    weights : SimpleRnnWeights
        Same dtype. Not changed.
    activation : ActivationPair
        An element-wise function, or one of a row.
    trace : SimpleRnnTrace
        Overwritten: what the backward pass needs.
    workspace : Workspace
        Lends scratch of one step.
    out : ndarray of shape (batch, time, n), same dtype, or None
        Overwritten with h. None where the trace is all that is wanted.
    mask : ndarray of shape (batch, time), optional
        1 keeps, 0 drops a step: whatever comes behind it begins from zeros.
    state : ndarray of shape (batch, n), optional
        h in front of the first step; None is zeros.

    Returns
    -------
    out : ndarray or None
        What was given.

    References
    ----------
    Elman, *Finding Structure in Time*, 1990; DL4J, ``SimpleRnn``.
    """
    xp = array_namespace(x)
    xp.copyto(trace.x, x.transpose(1, 0, 2))
    matmul(_rows(trace.x), weights.weight, out=_rows(trace.preout))
    if weights.gains is not None:
        _normalize(_rows(trace.preout), weights.gains[0], _all_rows(trace.norms[0]))
    xp.add(trace.preout, weights.bias, out=trace.preout)
    product = workspace.take("simple_rnn.product", trace.preout.shape[1:], x.dtype)
    before = state
    for step in range(x.shape[1]):
        if before is not None:
            matmul(before, weights.recurrent_weight, out=product)
            if weights.gains is not None:
                _normalize(product, weights.gains[1], _step(trace.norms[1], step))
            trace.preout[step] += product
        before = activation.forward(trace.preout[step], out=trace.hidden[step])
        if mask is not None:
            before *= mask[:, step : step + 1]
    if out is not None:
        xp.copyto(out, trace.hidden.transpose(1, 0, 2))
    return out


def simple_rnn_backward(
    grad_out: FloatArray,
    weights: SimpleRnnWeights,
    activation: ActivationPair,
    trace: SimpleRnnTrace,
    workspace: Workspace,
    *,
    gradients: SimpleRnnWeights,
    grad_x: FloatArray | None,
    mask: FloatArray | None = None,
    state: FloatArray | None = None,
) -> FloatArray | None:
    """Compute the gradients of :func:`simple_rnn_forward` through all time steps.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, time, n)
        Gradient of the loss in the output. Not changed.
    weights, activation, trace, workspace, mask
        As in the forward pass. Not changed.
    gradients : SimpleRnnWeights
        Overwritten with the sums over examples and time steps.
    grad_x : ndarray of shape (batch, time, n_in), same dtype, or None
        Overwritten. None where nobody reads it: then it is not computed.
    state : ndarray of shape (batch, n), optional
        As in the forward pass; a constant, which gets no gradient.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    xp = array_namespace(grad_out)
    grad_preout, grad_product = _backward_through_time(
        grad_out,
        weights,
        activation,
        trace,
        workspace,
        gradients,
        mask,
        has_state=state is not None,
    )
    # What was in front of the first step is not in the trace: with one step this
    # product is empty, 0.
    matmul(
        _rows(trace.hidden[:-1]).T,
        _rows(grad_product[1:]),
        out=gradients.recurrent_weight,
    )
    if state is not None:
        gradients.recurrent_weight[...] += state.T @ grad_product[0]
    rows = _rows(grad_preout)
    xp.sum(rows, axis=0, out=gradients.bias)
    gains, grad_gains = weights.gains, gradients.gains
    if gains is not None and grad_gains is not None:
        _denormalize(
            rows,
            gains[0],
            _all_rows(trace.norms[0]),
            grad_gain=grad_gains[0],
            out=rows,
        )
    matmul(_rows(trace.x).T, rows, out=gradients.weight)
    if grad_x is None:
        return None
    grad_steps = workspace.take("simple_rnn.grad_x", trace.x.shape, grad_out.dtype)
    matmul(rows, weights.weight.T, out=_rows(grad_steps))
    xp.copyto(grad_x, grad_steps.transpose(1, 0, 2))
    return grad_x


def _backward_through_time(
    grad_out: FloatArray,
    weights: SimpleRnnWeights,
    activation: ActivationPair,
    trace: SimpleRnnTrace,
    workspace: Workspace,
    gradients: SimpleRnnWeights,
    mask: FloatArray | None,
    *,
    has_state: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the gradients in the weighted sums and in the products with the output.

    Both have the shape (time, batch, n), and are one array without normalization.
    """
    xp = array_namespace(grad_out)
    shape, dtype = trace.preout.shape, grad_out.dtype
    grad_preout = workspace.take("simple_rnn.grad_preout", shape, dtype)
    grad_hidden = workspace.take("simple_rnn.grad_hidden", shape[1:], dtype)
    gain_of_step = workspace.take("simple_rnn.grad_gain", shape[2:], dtype)
    grad_product = grad_preout
    gains, grad_gains = weights.gains, gradients.gains
    if grad_gains is not None:
        grad_product = workspace.take("simple_rnn.grad_product", shape, dtype)
        grad_gains[1].fill(0)
    for step in reversed(range(shape[0])):
        if step + 1 < shape[0]:
            matmul(grad_product[step + 1], weights.recurrent_weight.T, out=grad_hidden)
            grad_hidden += grad_out[:, step]
        else:
            xp.copyto(grad_hidden, grad_out[:, step])
        grad = activation.backward(
            grad_hidden, trace.preout[step], trace.hidden[step], out=grad_preout[step]
        )
        if mask is not None:
            grad *= mask[:, step : step + 1]
        if (step or has_state) and gains is not None and grad_gains is not None:
            _denormalize(
                grad,
                gains[1],
                _step(trace.norms[1], step),
                grad_gain=gain_of_step,
                out=grad_product[step],
            )
            grad_gains[1] += gain_of_step
    return grad_preout, grad_product


def _normalize(values: FloatArray, gain: FloatArray, norm: NormTrace) -> None:
    """Normalize rows in place."""
    layer_norm_forward(
        values,
        gain,
        deviation=norm.deviation,
        normalized=norm.normalized,
        out=values,
    )


def _denormalize(
    grad: FloatArray,
    gain: FloatArray,
    norm: NormTrace,
    *,
    grad_gain: FloatArray,
    out: FloatArray,
) -> None:
    layer_norm_backward(
        grad, norm.normalized, norm.deviation, gain, grad_gain=grad_gain, grad_x=out
    )


def _step(norm: NormTrace, step: int) -> NormTrace:
    return NormTrace(norm.normalized[step], norm.deviation[step])


def _all_rows(norm: NormTrace) -> NormTrace:
    return NormTrace(_rows(norm.normalized), _rows(norm.deviation))


def _rows(steps: FloatArray) -> FloatArray:
    """View (time, batch, width) as (time * batch, width)."""
    return steps.reshape(-1, steps.shape[-1])
