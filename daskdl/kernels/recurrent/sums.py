"""The gradients of an LSTM's weights, which are sums over examples and time steps."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.products import matmul
from daskdl.kernels.recurrent.trace import LstmTrace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights


def sum_weight_gradients(
    grad_preout: FloatArray,
    trace: LstmTrace,
    gradients: LstmWeights,
    state: LstmState | None,
) -> None:
    """Overwrite the gradients of both matrices.

    Parameters
    ----------
    grad_preout : ndarray of shape (time, batch, 4 n)
        Of the weighted sums.
    trace : LstmTrace
        Of the forward pass.
    gradients : LstmWeights
        Whose bias and peepholes are left alone.
    state : LstmState, optional
        In front of the first step; None is zeros.
    """
    matmul(as_rows(trace.x).T, as_rows(grad_preout), out=gradients.weight)
    if len(grad_preout) > 1:
        behind, before = as_rows(grad_preout[1:]), as_rows(trace.hidden[:-1])
        matmul(before.T, behind, out=gradients.recurrent_weight)
    else:
        gradients.recurrent_weight[...] = 0
    if state is not None:
        # What was in front of the first step is not in the trace.
        first, recurrent = grad_preout[0], gradients.recurrent_weight
        matmul(state.hidden.T, first, adds=True, out=recurrent)


def as_rows(steps: FloatArray) -> FloatArray:
    """View (time, batch, width) as (time * batch, width)."""
    return steps.reshape(-1, steps.shape[-1])
