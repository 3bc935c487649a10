"""Pooling in ONNX, over windows and over everything."""

import math
from typing import Any

from daskdl.formats.onnx.convolution import window_attributes
from daskdl.formats.onnx.graph import Graph, Part, axis_of
from daskdl.nn.conf.input_type import Recurrent

__all__ = ["write_global_pooling", "write_pooling"]


def write_pooling(graph: Graph, part: Part, x: str) -> str:
    """Write pooling over windows of series, images or volumes."""
    is_series = isinstance(part.input_type, Recurrent)
    if is_series:
        x = graph.transposed(x, 0, 2, 1)
    y = _pooled(graph, part, x, window_attributes(part))
    return graph.transposed(y, 0, 2, 1) if is_series else y


def _pooled(graph: Graph, part: Part, x: str, window: dict[str, Any]) -> str:
    conf, kind = part.conf, part.conf.pooling_type
    if kind == "max":
        return graph.op("MaxPool", x, **window)
    if any(step != 1 for step in window.pop("dilations")):
        raise part.refused(
            f"dilation must be 1 unless pooling_type is 'max', got {conf.dilation}"
        )
    if kind == "pnorm":
        return graph.op("LpPool", x, p=conf.pnorm, **window)
    counts_padding = kind == "sum" or getattr(conf, "include_padding", False)
    y = graph.op("AveragePool", x, count_include_pad=int(counts_padding), **window)
    if kind == "avg":
        return y
    return graph.op("Mul", y, graph.floats(math.prod(conf.kernel_size)))


def write_global_pooling(graph: Graph, part: Part, x: str) -> str:
    """Write pooling over all steps, pixels or voxels."""
    conf, entered = part.conf, part.input_type
    inside = range(1, len(entered.shape))
    axes = graph.wholes(*sorted(axis_of(entered, axis) for axis in inside))
    keepdims = int(not conf.collapse_dimensions)
    if conf.pooling_type == "pnorm":
        powers = graph.op("Pow", graph.op("Abs", x), graph.floats(conf.pnorm))
        total = graph.op("ReduceSum", powers, axes, keepdims=keepdims)
        return graph.op("Pow", total, graph.floats(1 / conf.pnorm))
    kind = {"max": "ReduceMax", "avg": "ReduceMean", "sum": "ReduceSum"}
    return graph.op(kind[conf.pooling_type], x, axes, keepdims=keepdims)
