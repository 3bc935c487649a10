"""Long short-term memory over whole sequences, and its backward pass through time."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import cpu, reference
from daskdl.kernels.recurrent.trace import ActivationPair, LstmTrace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights


def lstm_forward(
    x: FloatArray,
    weights: LstmWeights,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    workspace: Workspace,
    *,
    out: FloatArray | None,
    mask: FloatArray | None = None,
    state: LstmState | None = None,
) -> FloatArray | None:
    """Run an LSTM, with or without peepholes, over all time steps.

    For each step, with ``z = x[t] @ weight + h[t-1] @ recurrent_weight + bias`` cut
    into blocks of n columns z_I, z_F, z_O, z_G, and peepholes p_F, p_O, p_G or 0::

        a = activation(z_I)                     the block input
        f = gate_activation(z_F + c[t-1] * p_F)
        g = gate_activation(z_G + c[t-1] * p_G)
        c[t] = f * c[t-1] + g * a
        o = gate_activation(z_O + c[t] * p_O)
        h[t] = o * activation(c[t])

    Where there is a mask, h[t] and c[t] are then multiplied by its column of the step.

    Parameters
    ----------
    x : ndarray of shape (batch, time, n_in)
        Not changed.
    weights : LstmWeights
        Same dtype. Gate blocks in DL4J's order I, F, O, G. Not changed.
    activation, gate_activation : ActivationPair
        Function of block input and cell, and element-wise function of the gates, which
        it gets together or one by one.
    trace : LstmTrace
        Overwritten: what the backward pass needs.
    workspace : Workspace
        Lends scratch of one step.
    out : ndarray of shape (batch, time, n), same dtype, or None
        Overwritten with h. None where the trace is all that is wanted.
    mask : ndarray of shape (batch, time), optional
        1 keeps, 0 drops a step: whatever comes behind it begins from zeros.
    state : LstmState, optional
        h and c in front of the first step; None is zeros.

    Returns
    -------
    out : ndarray or None
        What was given.

    Notes
    -----
    By whole-array expressions the products with the input are one matrix product for
    all steps, and each step adds one with the previous output. In register tiles both
    are made step by step, so that the sums are still near when they are used.

    References
    ----------
    Gers, Schmidhuber and Cummins, *Learning to Forget*, 2000; with peepholes Graves,
    *Supervised Sequence Labelling with Recurrent Neural Networks*, 2012, section 4.6.
    The column order is that of DL4J 1.0.0-M2.1.
    """
    if cpu.is_plain(weights, activation, gate_activation, trace):
        return cpu.lstm_forward(x, weights, trace, workspace, out, mask, state)
    return reference.lstm_forward(
        x,
        weights,
        activation,
        gate_activation,
        trace,
        workspace,
        out,
        mask,
        state,
    )


def lstm_backward(
    grad_out: FloatArray,
    weights: LstmWeights,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    workspace: Workspace,
    *,
    gradients: LstmWeights,
    grad_x: FloatArray | None,
    mask: FloatArray | None = None,
    masks_gradient: bool = False,
    state: LstmState | None = None,
) -> FloatArray | None:
    """Compute the gradients of :func:`lstm_forward` through all time steps.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, time, n)
        Gradient of the loss in the output. Not changed.
    weights, activation, gate_activation, trace, workspace
        As in the forward pass. Not changed.
    gradients : LstmWeights
        Overwritten with the sums over examples and time steps.
    grad_x : ndarray of shape (batch, time, n_in), same dtype, or None
        Overwritten. None where nobody reads it: then it is not computed.
    mask : ndarray of shape (batch, time), optional
        As in the forward pass.
    masks_gradient : bool
        Whether steps that the mask drops send no gradient to the parameters and the
        input.
    state : LstmState, optional
        As in the forward pass; a constant, which gets no gradient.

    Returns
    -------
    grad_x : ndarray or None
        What was given.

    Notes
    -----
    With a mask these are not quite the gradients of the forward pass: that of the cell
    goes through a dropped step as if it were kept, and without `masks_gradient` that of
    the output does, too. Both are the same where the dropped steps are the last ones
    and no gradient arrives at them.
    """
    is_plain = cpu.is_plain(weights, activation, gate_activation, trace)
    if is_plain and (mask is None or not masks_gradient):
        return cpu.lstm_backward(
            grad_out, weights, trace, workspace, gradients, grad_x, mask, state
        )
    return reference.lstm_backward(
        grad_out,
        weights,
        activation,
        gate_activation,
        trace,
        workspace,
        gradients,
        grad_x,
        mask,
        masks_gradient,
        state,
    )
