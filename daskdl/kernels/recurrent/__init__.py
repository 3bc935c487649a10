"""Long short-term memory over whole sequences, and its backward pass through time."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import reference
from daskdl.kernels.recurrent.trace import ActivationPair, LstmTrace


def lstm_forward(
    x: FloatArray,
    weight: FloatArray,
    recurrent_weight: FloatArray,
    bias: FloatArray,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Run an LSTM without peepholes from zero states over all time steps.

    For each step, with ``z = x[t] @ weight + h[t-1] @ recurrent_weight + bias`` cut
    into blocks of n columns z_I, z_F, z_O, z_G::

        a = activation(z_I)         the block input
        f, o, g = gate_activation(z_F, z_O, z_G)
        c[t] = f * c[t-1] + g * a
        h[t] = o * activation(c[t])

    Parameters
    ----------
    x : ndarray of shape (batch, time, n_in)
        Not changed.
    weight : ndarray of shape (n_in, 4 n), same dtype
        Gate blocks in DL4J's order I, F, O, G. Not changed.
    recurrent_weight : ndarray of shape (n, 4 n), same dtype
        Not changed.
    bias : ndarray of shape (4 n,), same dtype
        Not changed.
    activation, gate_activation : ActivationPair
        Element-wise functions of block input and cell, and of the three gates.
    trace : LstmTrace
        Overwritten: what the backward pass needs.
    workspace : Workspace
        Lends scratch of one step.
    out : ndarray of shape (batch, time, n), same dtype
        Overwritten with h.

    Returns
    -------
    out : ndarray
        The array that was given.

    Notes
    -----
    The products with the input are one matrix product for all steps; each step adds
    one with the previous output. Masks have no effect here, as in DL4J's LSTM.

    References
    ----------
    Gers, Schmidhuber and Cummins, *Learning to Forget*, 2000; the column order is
    that of DL4J 1.0.0-M2.1.
    """
    return reference.lstm_forward(
        x,
        weight,
        recurrent_weight,
        bias,
        activation,
        gate_activation,
        trace,
        workspace,
        out,
    )


def lstm_backward(
    grad_out: FloatArray,
    weight: FloatArray,
    recurrent_weight: FloatArray,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    workspace: Workspace,
    *,
    grad_weight: FloatArray,
    grad_recurrent_weight: FloatArray,
    grad_bias: FloatArray,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`lstm_forward` through all time steps.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, time, n)
        Gradient of the loss in the output. Not changed.
    weight, recurrent_weight, activation, gate_activation, trace, workspace
        As in the forward pass. Not changed.
    grad_weight, grad_recurrent_weight, grad_bias : ndarray like the parameters
        Overwritten with the sums over examples and time steps.
    grad_x : ndarray of shape (batch, time, n_in), same dtype, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    return reference.lstm_backward(
        grad_out,
        weight,
        recurrent_weight,
        activation,
        gate_activation,
        trace,
        workspace,
        grad_weight,
        grad_recurrent_weight,
        grad_bias,
        grad_x,
    )
