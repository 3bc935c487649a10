"""The LSTM pair in register tiles: one call for all time steps.

For tanh and sigmoid, without peepholes; see :func:`is_plain`.
"""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import programs
from daskdl.kernels.recurrent.programs import LstmSizes
from daskdl.kernels.recurrent.reference import sum_gradients
from daskdl.kernels.recurrent.trace import ActivationPair, LstmTrace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Program
from daskdl.kernels.tiles.usable import tiles_take


def is_plain(
    weights: LstmWeights,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
) -> bool:
    """Return whether the functions here compute this LSTM."""
    return (
        weights.peepholes is None
        and (activation.name, gate_activation.name) == ("tanh", "sigmoid")
        and trace.preout is trace.gates
        and tiles_take(weights.recurrent_weight, weights.bias, trace.x, trace.gates)
    )


def lstm_forward(
    x: FloatArray,
    weights: LstmWeights,
    trace: LstmTrace,
    workspace: Workspace,
    out: FloatArray | None,
    mask: FloatArray | None,
    state: LstmState | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.recurrent.lstm_forward` says."""
    sizes = _sizes(trace, mask)
    np.copyto(trace.x, x.transpose(1, 0, 2))
    rows = trace.x.reshape(-1, trace.x.shape[2])
    np.matmul(rows, weights.weight, out=trace.gates.reshape(len(rows), -1))
    if state is None:
        hidden = cell = _zeros(workspace, trace.hidden[0])
    else:
        hidden, cell = (
            np.ascontiguousarray(part, trace.x.dtype)
            for part in (state.hidden, state.cell)
        )
    program = programs.lstm_forward(sizes)
    fixed = (weights.recurrent_weight, weights.bias)
    # Nobody reads it where there is no mask.
    kept = trace.hidden[..., 0] if mask is None else mask.T
    masks = workspace.take("lstm.mask", kept.shape, trace.x.dtype)
    np.copyto(masks, kept)
    made = (trace.gates, trace.cells, trace.active_cells, trace.hidden, masks)
    first, later = ([array[step:] for array in made] for step in (0, 1))
    _run(program, 1, *fixed, hidden, cell, *first)
    if len(trace.x) > 1:
        _run(program, len(trace.x) - 1, *fixed, trace.hidden, trace.cells, *later)
    if out is not None:
        np.copyto(out, trace.hidden.transpose(1, 0, 2))
    return out


def lstm_backward(
    grad_out: FloatArray,
    weights: LstmWeights,
    trace: LstmTrace,
    workspace: Workspace,
    gradients: LstmWeights,
    grad_x: FloatArray | None,
    mask: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.recurrent.lstm_backward` says."""
    sizes = _sizes(trace, mask)
    dtype = trace.x.dtype
    grad_hidden = workspace.take("lstm.grad_hidden", trace.hidden.shape, dtype)
    np.copyto(grad_hidden, grad_out.transpose(1, 0, 2))
    recurrent = weights.recurrent_weight
    backwards = workspace.take("lstm.backwards", recurrent.shape[::-1], dtype)
    np.copyto(backwards, recurrent.T)
    grads = workspace.take("lstm.grad_preout", trace.gates.shape, dtype)
    grad_cell = workspace.take("lstm.grad_cell", trace.cells.shape[1:], dtype)
    grad_cell.fill(0)
    nothing = _zeros(workspace, trace.gates[0])
    program = programs.lstm_backward(sizes)
    # From the last step back. Nothing comes to it from behind, and nothing was in
    # front of the first one.
    for first, last in _stretches(len(trace.x)):
        _run(
            program,
            first - last + 1,
            backwards,
            grad_hidden[first],
            trace.gates[first],
            trace.active_cells[first],
            trace.cells[first - 1] if first else nothing,
            grads[first + 1] if first + 1 < len(trace.x) else nothing,
            grads[first],
            grad_cell,
            trace.cells[first],
        )
    sum_gradients(grads, trace, gradients)
    if grad_x is None:
        return None
    rows = workspace.take("lstm.grad_x", trace.x.shape, dtype)
    np.matmul(
        grads.reshape(-1, grads.shape[2]),
        weights.weight.T,
        out=rows.reshape(-1, rows.shape[2]),
    )
    np.copyto(grad_x, rows.transpose(1, 0, 2))
    return grad_x


def _stretches(time: int) -> list[tuple[int, int]]:
    """Return first and last step of the last step, the middle, and the first step."""
    if time == 1:
        return [(0, 0)]
    middle = [(time - 2, 1)] if time > 2 else []
    return [(time - 1, time - 1), *middle, (0, 0)]


def _sizes(trace: LstmTrace, mask: FloatArray | None) -> LstmSizes:
    _, batch, n_out = trace.hidden.shape
    return LstmSizes(batch, n_out, trace.x.dtype.name, mask is not None)


def _zeros(workspace: Workspace, like: FloatArray) -> FloatArray:
    zeros: FloatArray = workspace.take("lstm.zeros", like.shape, like.dtype)
    zeros.fill(0)
    return zeros


def _run(program: Program, n_steps: int, *arrays: FloatArray) -> None:
    native(program)(*(array.ctypes.data for array in arrays), n_steps)
