"""The LSTM pair in register tiles: one call for all time steps.

For tanh and sigmoid, without peepholes; see :func:`is_plain`.
"""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import programs
from daskdl.kernels.recurrent.programs import LstmSizes
from daskdl.kernels.recurrent.trace import ActivationPair, LstmTrace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Program
from daskdl.kernels.tiles.usable import addresses_of, tiles_take

# Rows in a sum of the gradients of weights: a tile of them is read and written once.
_SUMMED = 256


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
        and tiles_take(
            weights.weight,
            weights.recurrent_weight,
            weights.bias,
            trace.x,
            trace.gates,
        )
    )


def lstm_forward(
    x: FloatArray,
    weights: LstmWeights,
    trace: LstmTrace,
    workspace: Workspace,
    out: FloatArray | None,
    mask: FloatArray | None,
    state: LstmState | None,
) -> None:
    """Overwrite the trace and `out`, if there is one."""
    np.copyto(trace.x, x.transpose(1, 0, 2))
    hidden, cell = _in_front(state, trace, workspace)
    sizes = _sizes(trace, mask)
    of_input, of_hidden = (
        programs.packed_weights(panels, sizes.dtype) for panels in sizes.forwards
    )
    weight = _packed(of_input, weights.weight, workspace, "weight")
    recurrent = _packed(of_hidden, weights.recurrent_weight, workspace, "recurrent")
    # Nobody reads it where there is no mask.
    kept = trace.hidden[..., 0] if mask is None else mask.T
    masks = workspace.take("lstm.mask", kept.shape, trace.x.dtype)
    np.copyto(masks, kept)
    made = (trace.gates, trace.cells, trace.active_cells, trace.hidden, masks)
    before = ((hidden, cell), (trace.hidden, trace.cells))
    program = programs.lstm_forward(sizes)
    for step, n_steps in ((0, 1), (1, len(trace.x) - 1)):
        if n_steps:
            now = (array[step:] for array in made)
            fixed = (recurrent, weights.bias, *before[step])
            _run(program, n_steps, *fixed, *now, weight, trace.x[step:])
    if out is not None:
        np.copyto(out, trace.hidden.transpose(1, 0, 2))


def lstm_backward(
    grad_out: FloatArray,
    weights: LstmWeights,
    trace: LstmTrace,
    workspace: Workspace,
    gradients: LstmWeights,
    grad_x: FloatArray | None,
    mask: FloatArray | None,
    state: LstmState | None,
) -> None:
    """Overwrite the gradients; that in the input is computed if asked for.

    The gates of the trace are overwritten with their gradients.
    """
    dtype = trace.x.dtype
    grad_hidden = workspace.take("lstm.grad_hidden", trace.hidden.shape, dtype)
    np.copyto(grad_hidden, grad_out.transpose(1, 0, 2))
    # A step reads its gates last: their gradients take their place.
    grads = trace.gates
    grad_cell = workspace.take("lstm.grad_cell", trace.cells.shape[1:], dtype)
    grad_cell.fill(0)
    # Of no size where nobody asks for it.
    steps = trace.x.shape if grad_x is not None else (len(trace.x), 0)
    grad_steps = workspace.take("lstm.grad_x", steps, dtype)
    sizes = _sizes(trace, mask, sends_back=grad_x is not None)
    to_input, to_hidden = (
        programs.transposed_weights(panels, sizes.dtype) for panels in sizes.backwards
    )
    recurrent = _packed(to_hidden, weights.recurrent_weight, workspace, "recurrent")
    weight = recurrent
    if grad_x is not None:
        weight = _packed(to_input, weights.weight, workspace, "weight")
    nothing = _zeros(workspace, trace.gates[0])
    program = programs.lstm_backward(sizes)
    hidden_before, cell_before = _in_front(state, trace, workspace)
    # From the last step back: nothing comes to it from behind.
    for first, last in _stretches(len(trace.x)):
        _run(
            program,
            first - last + 1,
            recurrent,
            grad_hidden[first],
            trace.gates[first],
            trace.active_cells[first],
            trace.cells[first - 1] if first else cell_before,
            grads[first + 1] if first + 1 < len(trace.x) else nothing,
            grads[first],
            grad_cell,
            trace.cells[first],
            weight,
            grad_steps[first],
        )
    before = None if state is None else hidden_before
    _sum_gradients(sizes, grads, trace, gradients, workspace, before)
    if grad_x is not None:
        np.copyto(grad_x, grad_steps.transpose(1, 0, 2))


def _sum_gradients(
    sizes: LstmSizes,
    grads: FloatArray,
    trace: LstmTrace,
    gradients: LstmWeights,
    workspace: Workspace,
    hidden_before: FloatArray | None,
) -> None:
    """Overwrite the gradients of the weights with their sums over all steps."""
    of_weights = (gradients.weight, gradients.recurrent_weight, gradients.bias)
    for gradient in of_weights:
        gradient.fill(0)
    time = len(grads)
    most = min(time, max(1, _SUMMED // sizes.batch))
    stretch = workspace.take("lstm.stretch", (most, *grads.shape[1:]), grads.dtype)
    one = workspace.take("lstm.one", (1,), grads.dtype)
    one.fill(1)
    # What was in front of the first step lies elsewhere, or is nothing.
    rest = (time - 1) % most
    for first, count, n_steps in (
        (0, 1, 1),
        (1, (time - 1) // most, most),
        (time - rest, 1, rest),
    ):
        if count and n_steps:
            before = trace.hidden[first - 1] if first else hidden_before
            has_before = before is not None
            program = programs.lstm_sums(sizes, n_steps, has_before=has_before)
            # Nobody reads it where there is none.
            behind = trace.hidden[0] if before is None else before
            read = (trace.x[first], behind, grads[first])
            _run(program, count, *read, *of_weights, stretch, one)


def _stretches(time: int) -> list[tuple[int, int]]:
    """Return first and last step of the last step, the middle, and the first step."""
    if time == 1:
        return [(0, 0)]
    middle = [(time - 2, 1)] if time > 2 else []
    return [(time - 1, time - 1), *middle, (0, 0)]


def _sizes(
    trace: LstmTrace, mask: FloatArray | None, *, sends_back: bool = False
) -> LstmSizes:
    _, batch, n_in = trace.x.shape
    n_out = trace.hidden.shape[2]
    return LstmSizes(
        batch, n_in, n_out, trace.x.dtype.name, mask is not None, sends_back
    )


def _packed(
    program: Program, matrix: FloatArray, workspace: Workspace, name: str
) -> FloatArray:
    """Return weights in panels, which are good until the next layer's."""
    packed: FloatArray = workspace.take(
        ("lstm.packed", name), matrix.shape, matrix.dtype
    )
    _run(program, 1, matrix, packed)
    return packed


def _in_front(
    state: LstmState | None, trace: LstmTrace, workspace: Workspace
) -> tuple[FloatArray, FloatArray]:
    """Return h and c in front of the first step, each of shape (batch, n)."""
    if state is None:
        zeros = _zeros(workspace, trace.hidden[0])
        return zeros, zeros
    dtype = trace.x.dtype
    hidden = np.ascontiguousarray(state.hidden, dtype)
    return hidden, np.ascontiguousarray(state.cell, dtype)


def _zeros(workspace: Workspace, like: FloatArray) -> FloatArray:
    zeros: FloatArray = workspace.take("lstm.zeros", like.shape, like.dtype)
    zeros.fill(0)
    return zeros


def _run(program: Program, n: int, *arrays: FloatArray) -> None:
    """Call a program for n examples: time steps, or stretches of them."""
    native(program)(*addresses_of(*arrays), n)
