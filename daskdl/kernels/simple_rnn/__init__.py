"""The simplest recurrent layer over whole series, and its gradient through time."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent.trace import ActivationPair
from daskdl.kernels.simple_rnn import reference
from daskdl.kernels.simple_rnn.weights import SimpleRnnTrace, SimpleRnnWeights


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
    :func:`daskdl.kernels.normalization.layer_norm_forward`::

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
    return reference.simple_rnn_forward(
        x, weights, activation, trace, workspace, out, mask, state
    )


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
    return reference.simple_rnn_backward(
        grad_out, weights, activation, trace, workspace, gradients, grad_x, mask, state
    )
