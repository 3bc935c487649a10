"""The LSTM pair step by step with whole-array expressions."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
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
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.recurrent.lstm_forward` says."""
    xp = array_namespace(x)
    n_out = recurrent_weight.shape[0]
    xp.copyto(trace.x, x.transpose(1, 0, 2))
    xp.matmul(_rows(trace.x), weight, out=_rows(trace.preout))
    xp.add(trace.preout, bias, out=trace.preout)
    product = workspace.take("lstm.product", trace.preout.shape[1:], x.dtype)
    for step in range(x.shape[1]):
        preout, gates = trace.preout[step], trace.gates[step]
        if step:
            preout += xp.matmul(trace.hidden[step - 1], recurrent_weight, out=product)
        activation.forward(preout[:, :n_out], out=gates[:, :n_out])
        gate_activation.forward(preout[:, n_out:], out=gates[:, n_out:])
        block_input, forget, output, entry = _blocks(gates)
        cell = xp.multiply(entry, block_input, out=trace.cells[step])
        if step:
            cell += xp.multiply(forget, trace.cells[step - 1], out=product[:, :n_out])
        activation.forward(cell, out=trace.active_cells[step])
        xp.multiply(output, trace.active_cells[step], out=trace.hidden[step])
    xp.copyto(out, trace.hidden.transpose(1, 0, 2))
    return out


def lstm_backward(
    grad_out: FloatArray,
    weight: FloatArray,
    recurrent_weight: FloatArray,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    workspace: Workspace,
    grad_weight: FloatArray,
    grad_recurrent_weight: FloatArray,
    grad_bias: FloatArray,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.recurrent.lstm_backward` says."""
    xp = array_namespace(grad_out)
    n_steps = grad_out.shape[1]
    dtype = grad_out.dtype
    grad_preout = workspace.take("lstm.grad_preout", trace.preout.shape, dtype)
    grad_cell = workspace.take("lstm.grad_cell", trace.cells.shape[1:], dtype)
    grad_cell.fill(0)
    grad_hidden = workspace.take("lstm.grad_hidden", trace.cells.shape[1:], dtype)
    # Copied once: BLAS takes a third longer for each step with a transposed matrix.
    backwards = workspace.take("lstm.backwards", recurrent_weight.shape[::-1], dtype)
    xp.copyto(backwards, recurrent_weight.T)
    for step in reversed(range(n_steps)):
        if step + 1 < n_steps:
            xp.matmul(grad_preout[step + 1], backwards, out=grad_hidden)
            grad_hidden += grad_out[:, step]
        else:
            xp.copyto(grad_hidden, grad_out[:, step])
        _step_backward(
            step,
            grad_hidden,
            grad_cell,
            activation,
            gate_activation,
            trace,
            grad_preout[step],
        )
    xp.matmul(_rows(trace.x).T, _rows(grad_preout), out=grad_weight)
    # The first step has no previous output: with one step this product is empty, 0.
    xp.matmul(
        _rows(trace.hidden[:-1]).T, _rows(grad_preout[1:]), out=grad_recurrent_weight
    )
    xp.sum(_rows(grad_preout), axis=0, out=grad_bias)
    if grad_x is None:
        return None
    grad_steps = workspace.take("lstm.grad_x", trace.x.shape, dtype)
    xp.matmul(_rows(grad_preout), weight.T, out=_rows(grad_steps))
    xp.copyto(grad_x, grad_steps.transpose(1, 0, 2))
    return grad_x


def _step_backward(
    step: int,
    grad_hidden: FloatArray,
    grad_cell: FloatArray,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    grad_preout: FloatArray,
) -> None:
    """Overwrite the step's `grad_preout`, and turn `grad_cell` into the step before's.

    `grad_hidden` is used up.
    """
    xp = array_namespace(grad_hidden)
    n_out = grad_hidden.shape[1]
    preout, gates = trace.preout[step], trace.gates[step]
    block_input, forget, output, entry = _blocks(gates)
    grad_input, grad_forget, grad_output, grad_entry = _blocks(grad_preout)
    active_cell = trace.active_cells[step]

    xp.multiply(grad_hidden, active_cell, out=grad_output)
    grad_hidden *= output
    grad_cell += activation.backward(
        grad_hidden, trace.cells[step], active_cell, out=grad_hidden
    )
    xp.multiply(grad_cell, entry, out=grad_input)
    xp.multiply(grad_cell, block_input, out=grad_entry)
    if step:
        xp.multiply(grad_cell, trace.cells[step - 1], out=grad_forget)
    else:
        grad_forget.fill(0)
    grad_cell *= forget

    activation.backward(grad_input, preout[:, :n_out], gates[:, :n_out], out=grad_input)
    gate_activation.backward(
        grad_preout[:, n_out:],
        preout[:, n_out:],
        gates[:, n_out:],
        out=grad_preout[:, n_out:],
    )


def _rows(steps: FloatArray) -> FloatArray:
    """View (time, batch, width) as (time * batch, width)."""
    return steps.reshape(-1, steps.shape[-1])


def _blocks(gates: FloatArray) -> tuple[FloatArray, ...]:
    """Return the views of block input, forget, output and input gate."""
    n_out = gates.shape[1] // 4
    return tuple(gates[:, k * n_out : (k + 1) * n_out] for k in range(4))
