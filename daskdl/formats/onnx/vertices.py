"""Vertices of graphs in ONNX."""

from collections.abc import Sequence
from dataclasses import replace

from daskdl.formats.onnx.graph import Graph, Part, axis_of, feature_axis

__all__ = [
    "write_duplicate_to_time_series",
    "write_element_wise",
    "write_frozen_vertex",
    "write_l2",
    "write_l2_normalize",
    "write_last_time_step_vertex",
    "write_merge",
    "write_pool_helper",
    "write_preprocessor_vertex",
    "write_reverse_time_series",
    "write_scale",
    "write_shift",
    "write_stack",
    "write_subset",
    "write_unstack",
]

_ELEMENT_WISE = {
    "add": "Sum",
    "average": "Mean",
    "subtract": "Sub",
    "product": "Mul",
    "max": "Max",
}


def write_merge(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write inputs one behind the other."""
    axis = axis_of(part.input_type, part.conf.axis(part.input_types))
    return graph.op("Concat", *inputs, axis=axis)


def write_element_wise(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write inputs combined number by number."""
    kind = _ELEMENT_WISE[part.conf.op]
    if kind != "Mul":
        return graph.op(kind, *inputs)
    # The operator takes two.
    product, *rest = inputs
    for other in rest:
        product = graph.op(kind, product, other)
    return product


def write_scale(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write ``x * scale_factor``."""
    return graph.op("Mul", *inputs, graph.floats(part.conf.scale_factor))


def write_shift(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write ``x + shift_factor``."""
    return graph.op("Add", *inputs, graph.floats(part.conf.shift_factor))


def write_subset(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write some features or channels."""
    (x,) = inputs
    axis = feature_axis(part.input_type)
    return graph.sliced(x, part.conf.from_, part.conf.to + 1, axis)


def write_l2_normalize(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write ``x / max(norm of x, eps)``."""
    (x,) = inputs
    inside = part.conf.axes(part.input_type)
    axes = graph.wholes(*sorted(axis_of(part.input_type, axis) for axis in inside))
    norm = graph.op("ReduceL2", x, axes, keepdims=1)
    return graph.op("Div", x, graph.op("Max", norm, graph.floats(part.conf.eps)))


def write_l2(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write the distance of two inputs."""
    difference = graph.op("Flatten", graph.op("Sub", *inputs), axis=1)
    return graph.op("ReduceL2", difference, graph.wholes(1), keepdims=1)


def write_stack(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write inputs one below the other; series must be of one length."""
    return graph.op("Concat", *inputs, axis=0)


def write_unstack(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write one part of a stack."""
    (x,) = inputs
    size = part.conf.stack_size
    parts = graph.ops("Split", x, n_outputs=size, axis=0, num_outputs=size)
    chosen: int = part.conf.from_
    return parts[chosen]


def write_last_time_step_vertex(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write the last step."""
    (x,) = inputs
    return graph.op("Squeeze", graph.sliced(x, -1, None, axis=1), graph.wholes(1))


def write_reverse_time_series(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write series turned around."""
    (x,) = inputs
    return graph.sliced(x, -1, None, axis=1, step=-1)


def write_duplicate_to_time_series(
    graph: Graph, part: Part, inputs: Sequence[str]
) -> str:
    """Write a row at every step of a network input."""
    (x,) = inputs
    steps = graph.length(graph.inputs[part.conf.input_name], 1)
    repeats = graph.op("Concat", graph.wholes(1), steps, graph.wholes(1), axis=0)
    return graph.op("Tile", graph.op("Unsqueeze", x, graph.wholes(1)), repeats)


def write_preprocessor_vertex(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write the preprocessor that the vertex is."""
    (x,) = inputs
    conf = part.conf.preprocessor
    return graph.preprocessor(
        Part(part.name, conf, part.input_types, part.output_type), x
    )


def write_pool_helper(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write images without their first row and column."""
    (x,) = inputs
    return graph.sliced(graph.sliced(x, 1, None, axis=2), 1, None, axis=3)


def write_frozen_vertex(graph: Graph, part: Part, inputs: Sequence[str]) -> str:
    """Write the vertex that is held: that it does not learn is of no matter here."""
    return graph.vertex(replace(part, conf=part.conf.vertex), inputs)
