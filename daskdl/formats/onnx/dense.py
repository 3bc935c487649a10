"""Layers of rows, and of each time step, in ONNX: products, look-ups, outputs."""

from daskdl.formats.onnx.activations import activate
from daskdl.formats.onnx.graph import Graph, Part, feature_axis, softmax_axis
from daskdl.formats.onnx.reshaping import flattened
from daskdl.nn.conf.input_type import FeedForward, Recurrent

__all__ = [
    "write_activation",
    "write_dense",
    "write_element_wise_multiplication",
    "write_embedding",
    "write_embedding_sequence",
    "write_identity",
    "write_loss",
    "write_ocnn_output",
    "write_output",
    "write_repeat_vector",
]


def write_dense(graph: Graph, part: Part, x: str) -> str:
    """Write ``activation(x @ W + b)``, perhaps with the product normalized."""
    if not part.conf.has_layer_norm:
        return write_output(graph, part, x)
    y = graph.op("MatMul", _rows(graph, part, x), graph.floats(part.params["W"], "W"))
    y = _normalized(graph, y)
    y = graph.op("Mul", y, graph.floats(part.params["g"], "g"))
    if "b" in part.params:
        y = graph.op("Add", y, graph.floats(part.params["b"], "b"))
    return activate(graph, part.conf, y, axis=-1)


def write_output(graph: Graph, part: Part, x: str) -> str:
    """Write ``activation(x @ W + b)``; the loss is left out."""
    x, weight = _rows(graph, part, x), graph.floats(part.params["W"], "W")
    bias = [graph.floats(part.params["b"], "b")] if "b" in part.params else []
    if isinstance(part.input_type, Recurrent):
        y = graph.op("MatMul", x, weight)
        y = graph.op("Add", y, *bias) if bias else y
    else:
        y = graph.op("Gemm", x, weight, *bias)
    return activate(graph, part.conf, y, axis=-1)


def write_ocnn_output(graph: Graph, part: Part, x: str) -> str:
    """Write ``activation(x @ v) @ w``; the loss is left out."""
    hidden = graph.op(
        "Gemm", _rows(graph, part, x), graph.floats(part.params["v"], "v")
    )
    hidden = activate(graph, part.conf, hidden, axis=-1)
    return graph.op("MatMul", hidden, graph.floats(part.params["w"].T, "w"))


def write_activation(graph: Graph, part: Part, x: str) -> str:
    """Write ``activation(x)``."""
    return activate(graph, part.conf, x, softmax_axis(part))


def write_loss(graph: Graph, part: Part, x: str) -> str:
    """Write ``activation(x)``; the loss is left out."""
    return activate(graph, part.conf, x, feature_axis(part.input_type))


def write_identity(graph: Graph, part: Part, x: str) -> str:
    """Write no operator: the layer acts in training only."""
    return x


def write_element_wise_multiplication(graph: Graph, part: Part, x: str) -> str:
    """Write ``activation(x * W + b)``."""
    y = graph.op("Mul", x, graph.floats(part.params["W"], "W"))
    y = graph.op("Add", y, graph.floats(part.params["b"], "b"))
    return activate(graph, part.conf, y, axis=-1)


def write_embedding(graph: Graph, part: Part, x: str) -> str:
    """Write a look-up: (batch, 1) gives (batch, n_out)."""
    return _looked_up(graph, part, graph.op("Squeeze", x, graph.wholes(1)))


def write_embedding_sequence(graph: Graph, part: Part, x: str) -> str:
    """Write a look-up at each step: (batch, time) gives (batch, time, n_out)."""
    if not isinstance(part.input_type, FeedForward):
        x = graph.op("Squeeze", x, graph.wholes(2))
    return _looked_up(graph, part, x)


def write_repeat_vector(graph: Graph, part: Part, x: str) -> str:
    """Write a row at every step."""
    x = graph.op("Unsqueeze", x, graph.wholes(1))
    return graph.op("Tile", x, graph.wholes(1, part.conf.n, 1))


def _looked_up(graph: Graph, part: Part, x: str) -> str:
    # 7 is TensorProto.INT64.
    indices = graph.op("Cast", x, to=7)
    y = graph.op("Gather", graph.floats(part.params["W"], "W"), indices, axis=0)
    if "b" in part.params:
        y = graph.op("Add", y, graph.floats(part.params["b"], "b"))
    return activate(graph, part.conf, y, axis=-1)


def _rows(graph: Graph, part: Part, x: str) -> str:
    """Return the factor of a product: images and volumes are flattened."""
    if isinstance(part.input_type, FeedForward | Recurrent):
        return x
    return flattened(graph, part.input_type, x)


def _normalized(graph: Graph, x: str) -> str:
    """Return ``(x - mean) / std``; 0 where the deviation is 0, as the layer does."""
    axes = graph.wholes(-1)
    x = graph.op("Sub", x, graph.op("ReduceMean", x, axes))
    variance = graph.op("ReduceMean", graph.op("Mul", x, x), axes)
    deviation = graph.op("Sqrt", variance)
    is_flat = graph.op("Equal", deviation, graph.floats(0.0))
    return graph.op("Div", x, graph.op("Where", is_flat, graph.floats(1.0), deviation))
