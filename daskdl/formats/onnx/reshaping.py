"""Reshaping in ONNX: flattening, data formats, preprocessors."""

from typing import Any

from daskdl.formats.onnx.graph import Graph, Part
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    InputType,
    Recurrent,
    inside_type,
)

__all__ = [
    "flattened",
    "from_data_format",
    "to_data_format",
    "write_cnn_to_feed_forward",
    "write_cnn_to_rnn",
    "write_composable",
    "write_feed_forward_to_cnn",
    "write_feed_forward_to_rnn",
    "write_rnn_to_cnn",
    "write_rnn_to_feed_forward",
]

_CHANNELS_LAST = {"NHWC": (0, 3, 1, 2), "NDHWC": (0, 4, 1, 2, 3)}
_TO_CHANNELS_LAST = {"NHWC": (0, 2, 3, 1), "NDHWC": (0, 2, 3, 4, 1)}


def from_data_format(graph: Graph, input_type: InputType, x: str) -> str:
    """Convert a network input from the data format of its caller, in the graph."""
    if isinstance(input_type, ConvolutionalFlat):
        sizes = (input_type.channels, input_type.height, input_type.width)
        return graph.op("Reshape", x, graph.wholes(-1, *sizes))
    data_format = getattr(input_type, "data_format", "")
    if data_format == "NCW":
        return graph.transposed(x, 0, 2, 1)
    if data_format in _CHANNELS_LAST:
        return graph.transposed(x, *_CHANNELS_LAST[data_format])
    return x


def to_data_format(graph: Graph, output_type: InputType, x: str) -> str:
    """Convert an output to the data format of its caller, in the graph."""
    data_format = getattr(output_type, "data_format", "")
    if data_format == "NCW":
        return graph.transposed(x, 0, 2, 1)
    if data_format in _TO_CHANNELS_LAST:
        return graph.transposed(x, *_TO_CHANNELS_LAST[data_format])
    return x


def flattened(graph: Graph, input_type: InputType, x: str) -> str:
    """Return images or volumes as rows, in the order of their data format."""
    return graph.op("Flatten", to_data_format(graph, input_type, x), axis=1)


def write_cnn_to_feed_forward(graph: Graph, part: Part, x: str) -> str:
    """Write images or volumes as rows."""
    return flattened(graph, part.input_type, x)


def write_feed_forward_to_cnn(graph: Graph, part: Part, x: str) -> str:
    """Write rows as images; images stay as they are."""
    if isinstance(part.input_type, Convolutional | Convolutional3D):
        return x
    images: Any = part.output_type
    sizes = (images.channels, images.height, images.width)
    return graph.op("Reshape", x, graph.wholes(-1, *sizes))


def write_rnn_to_feed_forward(graph: Graph, part: Part, x: str) -> str:
    """Write time steps as rows: first the first step of all examples."""
    if not isinstance(part.input_type, Recurrent):
        return x
    x = graph.transposed(x, 1, 0, 2)
    return graph.op("Reshape", x, graph.wholes(-1, part.input_type.n_features))


def write_feed_forward_to_rnn(graph: Graph, part: Part, x: str) -> str:
    """Write rows as time steps, of as many series as the minibatch has examples."""
    batch = graph.length(next(iter(graph.inputs.values())), 0)
    shape = graph.op(
        "Concat",
        graph.wholes(-1),
        batch,
        graph.wholes(part.output_type.n_features),
        axis=0,
    )
    return graph.transposed(graph.op("Reshape", x, shape), 1, 0, 2)


def write_cnn_to_rnn(graph: Graph, part: Part, x: str) -> str:
    """Write images as time steps."""
    return write_feed_forward_to_rnn(graph, part, flattened(graph, part.input_type, x))


def write_rnn_to_cnn(graph: Graph, part: Part, x: str) -> str:
    """Write time steps as images."""
    rows = write_rnn_to_feed_forward(graph, part, x)
    return write_feed_forward_to_cnn(graph, part, rows)


def write_composable(graph: Graph, part: Part, x: str) -> str:
    """Write several preprocessors, one after the other."""
    current = part.input_type
    for conf in part.conf.preprocessors:
        following = inside_type(conf.output_type(current))
        x = graph.preprocessor(Part(part.name, conf, (current,), following), x)
        current = following
    return x
