"""What peepholes add to the steps of an LSTM: gates that look at the cell.

Forget and input gate see the cell before the step, the output gate the one after it.
Arrays of one step have the shape (batch, 4 n) with the blocks of the gates, those of
the cell (batch, n).
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.recurrent.trace import ActivationPair

# Block of the gate, and column of the peepholes.
_FORGET, _OUTPUT, _ENTRY = (1, 0), (2, 1), (3, 2)


def open_forget_and_entry(
    preout: FloatArray,
    gates: FloatArray,
    cell_before: FloatArray | None,
    peepholes: FloatArray,
    gate_activation: ActivationPair,
    scratch: FloatArray,
) -> None:
    """Write the forget and the input gate of a step.

    Parameters
    ----------
    preout : ndarray of shape (batch, 4 n)
        Weighted sums; what the peepholes send is added to both gates' blocks.
    gates : ndarray of shape (batch, 4 n)
        Both gates' blocks are overwritten.
    cell_before : ndarray of shape (batch, n), or None
        None is a cell of zeros.
    peepholes : ndarray of shape (n, 3)
        One column a gate.
    gate_activation : activation function
        Of the gates.
    scratch : ndarray of shape (batch, n)
        Overwritten.
    """
    for gate in (_FORGET, _ENTRY):
        _open(preout, gates, cell_before, peepholes, gate, gate_activation, scratch)


def open_output(
    preout: FloatArray,
    gates: FloatArray,
    cell: FloatArray,
    peepholes: FloatArray,
    gate_activation: ActivationPair,
    scratch: FloatArray,
) -> None:
    """Write the output gate; shapes are those of :func:`open_forget_and_entry`.

    The gate sees `cell`, the one after the step, of shape (batch, n).
    """
    _open(preout, gates, cell, peepholes, _OUTPUT, gate_activation, scratch)


def close_output(
    grad_cell: FloatArray,
    grad_preout: FloatArray,
    preout: FloatArray,
    gates: FloatArray,
    peepholes: FloatArray,
    gate_activation: ActivationPair,
) -> None:
    """Turn the output gate's gradient into its weighted sum's, and add the cell's.

    Parameters
    ----------
    grad_cell : ndarray of shape (batch, n)
        What flows through the peephole is added to it.
    grad_preout : ndarray of shape (batch, 4 n)
        The gate's block holds the gradient in the gate, and is overwritten.
    preout, gates : ndarray of shape (batch, 4 n)
        Of the forward pass. Not changed.
    peepholes : ndarray of shape (n, 3)
        Not changed.
    gate_activation : activation function
        Of the gates.
    """
    _close(grad_preout, preout, gates, _OUTPUT, gate_activation)
    grad_cell += _block(grad_preout, _OUTPUT) * peepholes[:, _OUTPUT[1]]


def close_forget_and_entry(
    grad_preout: FloatArray,
    preout: FloatArray,
    gates: FloatArray,
    gate_activation: ActivationPair,
) -> None:
    """Turn the gradients of forget and input gate into their weighted sums'.

    All arrays are of shape (batch, 4 n); the blocks of both gates in `grad_preout` are
    overwritten.
    """
    for gate in (_FORGET, _ENTRY):
        _close(grad_preout, preout, gates, gate, gate_activation)


def look_back(
    grad_cell: FloatArray, grad_preout: FloatArray, peepholes: FloatArray
) -> None:
    """Add what forget and input gate send to the cell before the step.

    `grad_cell` is of shape (batch, n), `grad_preout` (batch, 4 n), `peepholes` (n, 3).
    """
    for gate in (_FORGET, _ENTRY):
        grad_cell += _block(grad_preout, gate) * peepholes[:, gate[1]]


def sum_gradients(
    grad_preout: FloatArray,
    cells: FloatArray,
    cell_before: FloatArray | None,
    grad_peepholes: FloatArray,
) -> None:
    """Overwrite the peepholes' gradient with the sum over examples and time steps.

    Parameters
    ----------
    grad_preout, cells : ndarray of shape (time, batch, 4 n) and (time, batch, n)
        Gradients of the weighted sums, and the cells of the forward pass.
    cell_before : ndarray of shape (batch, n), optional
        The cell in front of the first step; None is zeros.
    grad_peepholes : ndarray of shape (n, 3)
        Overwritten.
    """
    xp = array_namespace(cells)
    for gate, seen, steps in (
        (_FORGET, cells[:-1], grad_preout[1:]),
        (_OUTPUT, cells, grad_preout),
        (_ENTRY, cells[:-1], grad_preout[1:]),
    ):
        grad_peepholes[:, gate[1]] = xp.einsum("tbn,tbn->n", _block(steps, gate), seen)
    if cell_before is not None:
        for gate in (_FORGET, _ENTRY):
            first = _block(grad_preout[0], gate) * cell_before
            grad_peepholes[:, gate[1]] += first.sum(0)


def _open(
    preout: FloatArray,
    gates: FloatArray,
    cell: FloatArray | None,
    peepholes: FloatArray,
    gate: tuple[int, int],
    gate_activation: ActivationPair,
    scratch: FloatArray,
) -> None:
    seen = _block(preout, gate)
    if cell is not None:
        seen += array_namespace(cell).multiply(cell, peepholes[:, gate[1]], out=scratch)
    gate_activation.forward(seen, out=_block(gates, gate))


def _close(
    grad_preout: FloatArray,
    preout: FloatArray,
    gates: FloatArray,
    gate: tuple[int, int],
    gate_activation: ActivationPair,
) -> None:
    gate_activation.backward(
        _block(grad_preout, gate),
        _block(preout, gate),
        _block(gates, gate),
        out=_block(grad_preout, gate),
    )


def _block(array: FloatArray, gate: tuple[int, int]) -> FloatArray:
    n_out = array.shape[-1] // 4
    return array[..., gate[0] * n_out : (gate[0] + 1) * n_out]
