"""The LSTM pair on a CUDA device: one launch for all time steps of a layer.

For tanh and sigmoid, without peepholes; see :func:`takes`. A layer whose recurrent
weights do not fit into the registers of the device makes one launch and one product of
cuBLAS a step.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.cuda.columns import sum_rows
from daskdl.kernels.cuda.source import CudaKernel, blocks_for
from daskdl.kernels.dispatch import is_on_device
from daskdl.kernels.products import matmul
from daskdl.kernels.recurrent.cuda_source import BACKWARD, COMMON, FORWARD
from daskdl.kernels.recurrent.sums import as_rows, sum_weight_gradients
from daskdl.kernels.recurrent.trace import ActivationPair, LstmTrace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights

# As in the source: examples of a chunk, units of a warp, threads of a block.
_EXAMPLES = 8
_UNITS = 8
_THREADS = 256
# Of the 255 registers that a thread has, 4 bytes each.
_MOST_HELD_BYTES = 128 * 4
_MOST_SUMMED_BYTES = 4 * 4
# Bytes between the counters of two groups of blocks, in numbers: a line of a cache.
_APART = 32


@dataclass(frozen=True)
class Plan:
    """How a layer is cut into blocks.

    Parameters
    ----------
    groups : int
        Groups of four numbers that a thread sums up over; 0 for a launch a step.
    columns : int
        Hidden units of a thread.
    slices, parts : int
        Blocks that share out the hidden units, and the minibatch.
    """

    groups: int
    columns: int
    slices: int
    parts: int

    @property
    def blocks(self) -> int:
        """All blocks."""
        return self.slices * self.parts

    def shared_bytes(self, row_slices: int, itemsize: int) -> int:
        """Return the shared memory of a block, for rows of so many slices."""
        rows = 4 * _EXAMPLES * self.groups * row_slices
        return (rows + _EXAMPLES * _THREADS * self.columns) * itemsize


def plan(
    batch: int, n_out: int, itemsize: int, multiprocessors: int, shared_limit: int
) -> Plan | None:
    """Return how all time steps are made by one launch; None if they cannot be.

    Parameters
    ----------
    batch, n_out : int
        Examples and hidden units.
    itemsize : int
        Bytes of a number.
    multiprocessors, shared_limit : int
        Of the device, and how many bytes of shared memory a block may have.

    Returns
    -------
    Plan or None
        With no more blocks than multiprocessors, as all must run at the same time.
    """
    groups, chunks = blocks_for(n_out, 32), max(1, blocks_for(batch, _EXAMPLES))
    best, least = None, 0
    # Units of a thread share what it reads: of equals the one with more is faster.
    for columns in (4, 2, 1):
        slices = blocks_for(n_out, _UNITS * columns)
        if slices > multiprocessors:
            continue
        rounds = blocks_for(chunks, multiprocessors // slices)
        found = Plan(groups, columns, slices, blocks_for(chunks, rounds))
        # Of more sums at once a thread would spill some.
        is_small = (
            columns * itemsize <= _MOST_SUMMED_BYTES
            and 4 * groups * columns * itemsize <= _MOST_HELD_BYTES
            and found.shared_bytes(_SLICES["lstm_backward"], itemsize) <= shared_limit
        )
        if is_small and (best is None or rounds * columns < least):
            best, least = found, rounds * columns
    return best


def takes(
    weights: LstmWeights,
    activation: ActivationPair,
    gate_activation: ActivationPair,
    trace: LstmTrace,
    *others: FloatArray | LstmState | None,
) -> bool:
    """Return whether the functions here compute this LSTM.

    Parameters
    ----------
    weights, activation, gate_activation, trace
        As of :func:`daskdl.kernels.recurrent.lstm_forward`.
    *others : ndarray, LstmState or None
        What else there may be.
    """
    if weights.peepholes is not None or trace.preout is not trace.gates:
        return False
    if trace.gates.size == 0:
        return False
    if (activation.name, gate_activation.name) != ("tanh", "sigmoid"):
        return False
    read = (weights.recurrent_weight, weights.bias, trace.x, weights.weight)
    arrays = [trace.gates, *read]
    for other in others:
        if isinstance(other, LstmState):
            arrays += [other.hidden, other.cell]
        elif other is not None:
            arrays.append(other)
    return is_on_device(*arrays) and all(map(_has_rows, read[:2]))


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
    xp = array_namespace(x)
    xp.copyto(trace.x, x.transpose(1, 0, 2))
    matmul(as_rows(trace.x), weights.weight, out=as_rows(trace.gates))
    written = out if out is not None and _has_rows(out) else None
    hidden, cell = _in_front(state, workspace)

    def launch(plan: Plan, t: int, n_steps: int, cell: FloatArray | None) -> None:
        kernel = _Launch("lstm_forward", plan, trace)
        kernel(
            trace.gates[t:],
            *(weights.bias, weights.recurrent_weight),
            _step(weights.recurrent_weight, 0),
            *(hidden if plan.groups else None, cell),
            *(trace.cells[t:], trace.active_cells[t:], trace.hidden[t:]),
            *_steps_of(written, t),
            *_steps_of(mask, t),
            kernel.counters(workspace),
            n_steps,
        )

    whole = _plan(trace)
    if whole is not None:
        launch(whole, 0, len(trace.x), cell)
    else:
        before = hidden
        for t in range(len(trace.x)):
            if before is not None:
                recurrent = weights.recurrent_weight
                matmul(before, recurrent, adds=True, out=trace.gates[t])
            launch(_plan_of_step(trace), t, 1, trace.cells[t - 1] if t else cell)
            before = trace.hidden[t]
    if out is not None and written is None:
        xp.copyto(out, trace.hidden.transpose(1, 0, 2))


def lstm_backward(
    grad_out: FloatArray,
    weights: LstmWeights,
    trace: LstmTrace,
    workspace: Workspace,
    gradients: LstmWeights,
    grad_x: FloatArray | None,
    mask: FloatArray | None,
    masks_gradient: bool,
    state: LstmState | None,
) -> None:
    """Overwrite the gradients; that in the input is computed if asked for.

    The gates of the trace are overwritten with their gradients.
    """
    xp, dtype = array_namespace(grad_out), grad_out.dtype
    if not _has_rows(grad_out):
        copied = workspace.take("lstm.grad_out", grad_out.shape, dtype)
        xp.copyto(copied, grad_out)
        grad_out = copied
    _, cell = _in_front(state, workspace)
    grad_cell = workspace.take("lstm.grad_cell", trace.cells.shape[1:], dtype)

    def launch(
        plan: Plan,
        t: int,
        n_steps: int,
        cell: FloatArray | None,
        behind: FloatArray | None,
    ) -> None:
        kernel = _Launch("lstm_backward", plan, trace)
        kernel(
            *(trace.gates[t:], weights.recurrent_weight),
            *(_step(weights.recurrent_weight, 0), behind),
            *_steps_of(grad_out, t),
            *(trace.cells[t:], cell, trace.active_cells[t:], grad_cell),
            *(*_steps_of(mask, t), masks_gradient),
            kernel.bias_sums(workspace),
            gradients.bias if plan.groups else None,
            kernel.counters(workspace),
            n_steps,
        )

    whole = _plan(trace)
    if whole is not None:
        launch(whole, 0, len(trace.x), cell, None)
    else:
        grad_cell.fill(0)
        sent = workspace.take("lstm.grad_hidden", grad_cell.shape, dtype)
        behind = None
        for t in reversed(range(len(trace.x))):
            if t + 1 < len(trace.x):
                recurrent = weights.recurrent_weight
                behind = matmul(trace.gates[t + 1], recurrent.T, out=sent)
            before = trace.cells[t - 1] if t else cell
            launch(_plan_of_step(trace), t, 1, before, behind)
        sum_rows(as_rows(trace.gates), out=gradients.bias)
    sum_weight_gradients(trace.gates, trace, gradients, state)
    if grad_x is not None:
        grad_steps = workspace.take("lstm.grad_x", trace.x.shape, dtype)
        matmul(as_rows(trace.gates), weights.weight.T, out=as_rows(grad_steps))
        xp.copyto(grad_x, grad_steps.transpose(1, 0, 2))


# Among how many threads a sum is shared out: warps, or warps and gates.
_SLICES = {"lstm_forward": 8, "lstm_backward": 32}
_SOURCES = {"lstm_forward": FORWARD, "lstm_backward": BACKWARD}


class _Launch:
    """A kernel with its blocks, and with the sizes that end its arguments."""

    def __init__(self, name: str, plan: Plan, trace: LstmTrace) -> None:
        _, batch, n_out = trace.hidden.shape
        self._plan = plan
        self._sizes = (batch, n_out, plan.slices, plan.parts)
        self._dtype = trace.gates.dtype
        # A row of the gradients always has a multiple of four numbers.
        vectors = n_out % 4 == 0 or name == "lstm_backward"
        self._kernel = _kernel(name, plan.groups, plan.columns, vectors)
        self._shared = 0
        if plan.groups:
            itemsize = self._dtype.itemsize
            self._shared = plan.shared_bytes(_SLICES[name], itemsize)

    def __call__(self, first: FloatArray, *args: Any) -> None:
        given = (first, *args, *self._sizes)
        self._kernel(self._plan.blocks, _THREADS, *given, shared=self._shared)

    def counters(self, workspace: Workspace) -> Any:
        """Return zeros, by which blocks wait for each other; None if they do not."""
        if not self._plan.groups:
            return None
        shape = (_APART * (self._plan.parts + self._plan.slices),)
        counters = workspace.take("lstm.counters", shape, np.uint32)
        counters.fill(0)
        return counters

    def bias_sums(self, workspace: Workspace) -> FloatArray | None:
        """Return room for the gradient of the bias from each part of a minibatch."""
        if not self._plan.groups:
            return None
        shape = (self._plan.parts, 4 * self._sizes[1])
        room: FloatArray = workspace.take("lstm.bias_sums", shape, self._dtype)
        return room


@functools.cache
def _kernel(name: str, groups: int, columns: int, vectors: bool) -> CudaKernel:
    defined = {"GROUPS": groups, "COLUMNS": columns, "VECTORS": int(vectors)}
    lines = "".join(f"#define {key} {value}\n" for key, value in defined.items())
    source = lines + COMMON + _SOURCES[name]
    return CudaKernel(name, source, is_cooperative=groups > 0)


def _plan(trace: LstmTrace) -> Plan | None:
    cupy = array_namespace(trace.gates)
    limits = _limits(cupy, cupy.cuda.runtime.getDevice())
    _, batch, n_out = trace.hidden.shape
    return plan(batch, n_out, trace.gates.dtype.itemsize, *limits)


def _plan_of_step(trace: LstmTrace) -> Plan:
    _, batch, n_out = trace.hidden.shape
    return Plan(0, 1, blocks_for(n_out, _UNITS), blocks_for(batch, _EXAMPLES))


@functools.cache
def _limits(cupy: Any, number: int) -> tuple[int, int]:
    """Return multiprocessors, and bytes of shared memory, of a device."""
    found = cupy.cuda.Device(number).attributes
    return found["MultiProcessorCount"], found["MaxSharedMemoryPerBlockOptin"]


def _in_front(
    state: LstmState | None, workspace: Workspace
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return h and c in front of the first step, each of shape (batch, n)."""
    if state is None:
        return None, None
    # A copy begins where four numbers can be read at once.
    hidden = workspace.take("lstm.hidden", state.hidden.shape, state.hidden.dtype)
    cell = workspace.take("lstm.cell", state.cell.shape, state.cell.dtype)
    xp = array_namespace(hidden)
    xp.copyto(hidden, state.hidden)
    xp.copyto(cell, state.cell)
    return hidden, cell


def _steps_of(series: FloatArray | None, t: int) -> tuple[FloatArray | None, int, int]:
    """Return (batch, time, ...) from a step on, and from example and step to the next.

    The last two are in numbers.
    """
    if series is None:
        return None, 0, 0
    return series[:, t:], _step(series, 0), _step(series, 1)


def _step(array: FloatArray, axis: int) -> int:
    return array.strides[axis] // array.itemsize


def _has_rows(array: FloatArray) -> bool:
    """Return whether the numbers along the last axis are next to each other."""
    return array.shape[-1] == 1 or array.strides[-1] == array.itemsize
