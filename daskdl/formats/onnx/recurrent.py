"""Recurrent layers in ONNX, and the wrappers around layers.

ONNX's operators want (time, batch, features), and weights with the gates one below the
other; each works in one direction here.
"""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.formats.onnx.activations import Cell, cell_activation
from daskdl.formats.onnx.graph import Graph, Part
from daskdl.nn.conf.input_type import Recurrent

__all__ = [
    "write_bidirectional",
    "write_frozen",
    "write_graves_bidirectional_lstm",
    "write_last_time_step",
    "write_lstm",
    "write_simple_rnn",
    "write_time_distributed",
]

# Blocks of DL4J's columns: block input, forget, output, input gate. ONNX's rows: input
# gate, output gate, forget gate, block input; its peepholes: input, output, forget.
_GATES = (3, 2, 1, 0)
_PEEPHOLES = (2, 1, 0)


def write_lstm(graph: Graph, part: Part, x: str) -> str:
    """Write an LSTM, with peepholes if there are columns for them."""
    params = part.params
    return _lstm(graph, part, x, params["W"], params["RW"], params["b"])


def write_graves_bidirectional_lstm(graph: Graph, part: Part, x: str) -> str:
    """Write the sum of two LSTMs with peepholes, one from each end."""
    params = part.params
    forward = _lstm(graph, part, x, *(params[f"{n}F"] for n in ("W", "RW", "b")))
    turned = graph.sliced(x, -1, None, axis=1, step=-1)
    backward = _lstm(graph, part, turned, *(params[f"{n}B"] for n in ("W", "RW", "b")))
    return graph.op("Add", forward, graph.sliced(backward, -1, None, axis=1, step=-1))


def write_simple_rnn(graph: Graph, part: Part, x: str) -> str:
    """Write a recurrent layer without gates."""
    conf, params = part.conf, part.params
    if conf.has_layer_norm:
        raise part.refused("has_layer_norm must be False, got True")
    return _recurrent(
        graph,
        x,
        "RNN",
        weight=params["W"].T,
        recurrent_weight=params["RW"].T,
        bias=params["b"],
        cells=[_cell(part, "activation")],
    )


def write_bidirectional(graph: Graph, part: Part, x: str) -> str:
    """Write a layer, and another one that gets the series turned around."""
    first = graph.layer(_inner(part, "f"), x)
    turned = graph.sliced(x, -1, None, axis=1, step=-1)
    second = graph.layer(_inner(part, "b"), turned)
    if isinstance(part.output_type, Recurrent):
        second = graph.sliced(second, -1, None, axis=1, step=-1)
    mode = part.conf.mode
    if mode == "concat":
        return graph.op("Concat", first, second, axis=-1)
    if mode == "mul":
        return graph.op("Mul", first, second)
    total = graph.op("Add", first, second)
    return total if mode == "add" else graph.op("Mul", total, graph.floats(0.5))


def write_last_time_step(graph: Graph, part: Part, x: str) -> str:
    """Write a layer and keep its last step."""
    series = graph.layer(_inner(part), x)
    return graph.op("Squeeze", graph.sliced(series, -1, None, axis=1), graph.wholes(1))


def write_time_distributed(graph: Graph, part: Part, x: str) -> str:
    """Write a layer of rows that gets all steps as rows."""
    inner = _inner(part)
    rows = graph.op("Reshape", x, graph.wholes(-1, part.input_type.n_features))
    rows = graph.layer(inner, rows)
    shape = graph.op(
        "Concat",
        graph.length(x, 0),
        graph.length(x, 1),
        graph.wholes(inner.output_type.n_features),
        axis=0,
    )
    return graph.op("Reshape", rows, shape)


def write_frozen(graph: Graph, part: Part, x: str) -> str:
    """Write the wrapped layer: that it does not learn is of no matter here."""
    return graph.layer(_inner(part), x)


def _inner(part: Part, prefix: str = "") -> Part:
    """Return the wrapped layer as a part, with the parameters of that prefix."""
    conf = part.conf
    arriving = conf.inner_type(part.input_type)
    params = {
        name[len(prefix) :]: array
        for name, array in part.params.items()
        if name.startswith(prefix)
    }
    output_type = conf.wrapped_output(part.input_type)
    return Part(part.name, conf.layer, (arriving,), output_type, params)


def _lstm(
    graph: Graph,
    part: Part,
    x: str,
    weight: FloatArray,
    recurrent_weight: FloatArray,
    bias: FloatArray,
) -> str:
    n = part.conf.n_out
    peepholes = recurrent_weight[:, 4 * n :]
    cell = _cell(part, "activation")
    return _recurrent(
        graph,
        x,
        "LSTM",
        weight=_gates(weight).T,
        recurrent_weight=_gates(recurrent_weight[:, : 4 * n]).T,
        bias=_gates(bias),
        peepholes=peepholes.T[list(_PEEPHOLES)] if peepholes.size else None,
        cells=[_cell(part, "gate_activation"), cell, cell],
    )


def _gates(array: FloatArray) -> FloatArray:
    """Return the blocks of the last axis in ONNX's order."""
    blocks = np.split(array, 4, axis=-1)
    gates: FloatArray = np.concatenate([blocks[i] for i in _GATES], axis=-1)
    return gates


def _recurrent(
    graph: Graph,
    x: str,
    kind: str,
    *,
    weight: FloatArray,
    recurrent_weight: FloatArray,
    bias: FloatArray,
    cells: list[Cell],
    peepholes: FloatArray | None = None,
) -> str:
    """Write an operator for series (batch, time, features), and return such ones."""
    no_bias = np.zeros_like(bias)
    inputs = [
        graph.transposed(x, 1, 0, 2),
        graph.floats(weight[None], "W"),
        graph.floats(recurrent_weight[None], "R"),
        graph.floats(np.concatenate([bias, no_bias])[None], "B"),
    ]
    if peepholes is not None:
        # In between are lengths of series, and the states that all begin with 0.
        inputs += ["", "", "", graph.floats(peepholes.reshape(1, -1), "P")]
    y, *_ = graph.ops(
        kind,
        *inputs,
        n_outputs=1,
        hidden_size=recurrent_weight.shape[1],
        activations=[cell.name for cell in cells],
        # Only of those that need one, in their order.
        **_listed("activation_alpha", [cell.options[:1] for cell in cells]),
        **_listed("activation_beta", [cell.options[1:] for cell in cells]),
    )
    # (time, directions, batch, features)
    return graph.transposed(graph.op("Squeeze", y, graph.wholes(1)), 1, 0, 2)


def _listed(name: str, values: list[tuple[float, ...]]) -> dict[str, list[float]]:
    """Return an attribute with all the values; nothing if there are none."""
    found = [value for some in values for value in some]
    return {name: found} if found else {}


def _cell(part: Part, option: str) -> Cell:
    activation: Any = getattr(part.conf, option)
    found = cell_activation(activation)
    if found is None:
        raise part.refused(
            f"{option} must be one that ONNX's recurrent operators have, got "
            f"{getattr(activation, 'type', activation)!r}"
        )
    return found
