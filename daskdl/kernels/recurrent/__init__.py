"""Long short-term memory over whole sequences, and its backward pass through time."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.products import matmul
from daskdl.kernels.recurrent import cpu, gpu, peephole
from daskdl.kernels.recurrent.sums import as_rows, sum_weight_gradients
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
        cpu.lstm_forward(x, weights, trace, workspace, out, mask, state)
        return out
    functions = (activation, gate_activation)
    if gpu.takes(weights, *functions, trace, x, out, mask, state):
        gpu.lstm_forward(x, weights, trace, workspace, out, mask, state)
        return out
    xp = array_namespace(x)
    xp.copyto(trace.x, x.transpose(1, 0, 2))
    matmul(as_rows(trace.x), weights.weight, out=as_rows(trace.preout))
    xp.add(trace.preout, weights.bias, out=trace.preout)
    product = workspace.take("lstm.product", trace.preout.shape[1:], x.dtype)
    hidden, cell = (None, None) if state is None else (state.hidden, state.cell)
    for step in range(x.shape[1]):
        if hidden is not None:
            matmul(hidden, weights.recurrent_weight, out=product)
            trace.preout[step] += product
        _step_forward(
            step,
            cell,
            weights.peepholes,
            activation,
            gate_activation,
            trace,
            product[:, : trace.cells.shape[2]],
        )
        hidden, cell = trace.hidden[step], trace.cells[step]
        if mask is not None:
            hidden *= mask[:, step : step + 1]
            cell *= mask[:, step : step + 1]
    if out is not None:
        xp.copyto(out, trace.hidden.transpose(1, 0, 2))
    return out


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
    weights, activation, gate_activation, workspace
        As in the forward pass. Not changed.
    trace : LstmTrace
        Of the forward pass. Its gates may be overwritten: one pass back is all that it
        serves for.
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
        cpu.lstm_backward(
            grad_out, weights, trace, workspace, gradients, grad_x, mask, state
        )
        return grad_x
    functions = (activation, gate_activation)
    if gpu.takes(weights, *functions, trace, grad_out, grad_x, mask, state):
        given = (gradients, grad_x, mask, masks_gradient, state)
        gpu.lstm_backward(grad_out, weights, trace, workspace, *given)
        return grad_x
    xp = array_namespace(grad_out)
    n_steps = grad_out.shape[1]
    dtype = grad_out.dtype
    grad_preout = workspace.take("lstm.grad_preout", trace.preout.shape, dtype)
    grad_cell = workspace.take("lstm.grad_cell", trace.cells.shape[1:], dtype)
    grad_cell.fill(0)
    grad_hidden = workspace.take("lstm.grad_hidden", trace.cells.shape[1:], dtype)
    scratch = workspace.take("lstm.scratch", trace.cells.shape[1:], dtype)
    recurrent = weights.recurrent_weight
    # Copied once: BLAS takes a third longer for each step with a transposed matrix.
    backwards = workspace.take("lstm.backwards", recurrent.shape[::-1], dtype)
    xp.copyto(backwards, recurrent.T)
    cell_before = None if state is None else state.cell
    for step in reversed(range(n_steps)):
        if step + 1 < n_steps:
            matmul(grad_preout[step + 1], backwards, out=grad_hidden)
            grad_hidden += grad_out[:, step]
        else:
            xp.copyto(grad_hidden, grad_out[:, step])
        active_cell = trace.active_cells[step]
        if mask is not None:
            # The slope is that at the cell that is left, and the gradient of the output
            # gate that of the cell before the mask.
            active_cell = activation.forward(trace.cells[step], out=scratch)
        _step_backward(
            step,
            grad_hidden,
            grad_cell,
            active_cell,
            trace.cells[step - 1] if step else cell_before,
            weights.peepholes,
            activation,
            gate_activation,
            trace,
            grad_preout[step],
        )
        if mask is not None and masks_gradient:
            grad_preout[step] *= mask[:, step : step + 1]
        if weights.peepholes is not None:
            peephole.look_back(grad_cell, grad_preout[step], weights.peepholes)
    _sum_gradients(grad_preout, trace, gradients, state)
    if grad_x is None:
        return None
    grad_steps = workspace.take("lstm.grad_x", trace.x.shape, dtype)
    matmul(as_rows(grad_preout), weights.weight.T, out=as_rows(grad_steps))
    xp.copyto(grad_x, grad_steps.transpose(1, 0, 2))
    return grad_x


def _step_forward(
    step: int,
    cell_before: FloatArray | None,
    peepholes: FloatArray | None,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    scratch: FloatArray,
) -> None:
    """Turn the step's weighted sums into its gates, cell and output."""
    xp = array_namespace(scratch)
    n_out = scratch.shape[1]
    preout, gates, cell = trace.preout[step], trace.gates[step], trace.cells[step]
    activation.forward(preout[:, :n_out], out=gates[:, :n_out])
    if peepholes is None:
        gate_activation.forward(preout[:, n_out:], out=gates[:, n_out:])
    else:
        peephole.open_forget_and_entry(
            preout, gates, cell_before, peepholes, gate_activation, scratch
        )
    block_input, forget, output, entry = _blocks(gates)
    xp.multiply(entry, block_input, out=cell)
    if cell_before is not None:
        cell += xp.multiply(forget, cell_before, out=scratch)
    if peepholes is not None:
        peephole.open_output(preout, gates, cell, peepholes, gate_activation, scratch)
    activation.forward(cell, out=trace.active_cells[step])
    xp.multiply(output, trace.active_cells[step], out=trace.hidden[step])


def _step_backward(
    step: int,
    grad_hidden: FloatArray,
    grad_cell: FloatArray,
    active_cell: FloatArray,
    cell_before: FloatArray | None,
    peepholes: FloatArray | None,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    grad_preout: FloatArray,
) -> None:
    """Overwrite the step's `grad_preout`, and turn `grad_cell` into the step before's.

    What peepholes send there is left out. `grad_hidden` is used up. `active_cell` is
    the activation of the cell that is kept, which is another one than that of the
    output where a mask has dropped it.
    """
    xp = array_namespace(grad_hidden)
    n_out = grad_hidden.shape[1]
    preout, gates = trace.preout[step], trace.gates[step]
    block_input, forget, output, entry = _blocks(gates)
    grad_input, grad_forget, grad_output, grad_entry = _blocks(grad_preout)

    xp.multiply(grad_hidden, trace.active_cells[step], out=grad_output)
    grad_hidden *= output
    grad_cell += activation.backward(
        grad_hidden, trace.cells[step], active_cell, out=grad_hidden
    )
    if peepholes is not None:
        peephole.close_output(
            grad_cell, grad_preout, preout, gates, peepholes, gate_activation
        )
    xp.multiply(grad_cell, entry, out=grad_input)
    xp.multiply(grad_cell, block_input, out=grad_entry)
    if cell_before is None:
        grad_forget.fill(0)
    else:
        xp.multiply(grad_cell, cell_before, out=grad_forget)
    grad_cell *= forget

    activation.backward(grad_input, preout[:, :n_out], block_input, out=grad_input)
    if peepholes is not None:
        peephole.close_forget_and_entry(grad_preout, preout, gates, gate_activation)
        return
    grad_gates = grad_preout[:, n_out:]
    gate_activation.backward(
        grad_gates, preout[:, n_out:], gates[:, n_out:], out=grad_gates
    )


def _sum_gradients(
    grad_preout: FloatArray,
    trace: LstmTrace,
    gradients: LstmWeights,
    state: LstmState | None,
) -> None:
    """Overwrite the gradients with their sums over examples and time steps."""
    sum_weight_gradients(grad_preout, trace, gradients, state)
    xp = array_namespace(grad_preout)
    xp.sum(as_rows(grad_preout), axis=0, out=gradients.bias)
    if gradients.peepholes is not None:
        peephole.sum_gradients(
            grad_preout,
            trace.cells,
            None if state is None else state.cell,
            gradients.peepholes,
        )


def _blocks(gates: FloatArray) -> tuple[FloatArray, ...]:
    """Return the views of block input, forget, output and input gate."""
    n_out = gates.shape[1] // 4
    return tuple(gates[:, k * n_out : (k + 1) * n_out] for k in range(4))
