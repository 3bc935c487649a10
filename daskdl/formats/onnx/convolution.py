"""Convolutions of series, images and volumes in ONNX, and their transposes."""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.formats.onnx.activations import activate
from daskdl.formats.onnx.graph import Graph, Part, softmax_axis
from daskdl.kernels.window import window_axis
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.layers.windows import reach

__all__ = [
    "window_attributes",
    "write_convolution",
    "write_deconvolution",
    "write_depthwise_convolution",
    "write_separable_convolution",
]


def window_attributes(part: Part) -> dict[str, Any]:
    """Return where the window of a layer lies, in the words of ONNX's operators.

    Raises
    ------
    FormatError
        If it leaves gaps on an axis whose size is open.
    """
    conf = part.conf
    attributes: dict[str, Any] = {
        "kernel_shape": list(conf.kernel_size),
        "strides": list(conf.stride),
        "dilations": list(conf.dilation),
    }
    if conf.convolution_mode == "same":
        return {**attributes, **_same_pads(part)}
    if conf.convolution_mode == "causal":
        before = [
            reach(kernel, dilation) - 1
            for kernel, dilation in zip(conf.kernel_size, conf.dilation, strict=True)
        ]
        return {**attributes, "pads": [*before, *(0 for _ in before)]}
    return {**attributes, "pads": [*conf.padding, *conf.padding]}


def _same_pads(part: Part) -> dict[str, Any]:
    conf, sizes = part.conf, part.input_type.shape[:-1]
    pads = [_pads_of_axis(conf, axis, size) for axis, size in enumerate(sizes)]
    known = [pad for pad in pads if pad is not None]
    if len(known) == len(pads):
        return {"pads": [before for before, _ in known] + [end for _, end in known]}
    # What the runtime works out once it knows the size, with some gaps.
    if any(
        stride > kernel or dilation > 1
        for kernel, stride, dilation in zip(
            conf.kernel_size, conf.stride, conf.dilation, strict=True
        )
    ):
        raise part.refused(
            "stride must be 1, or at most the kernel and without dilation, where sizes "
            f"are open and convolution_mode is 'same', got {conf.stride} for "
            f"{conf.kernel_size} with dilation {conf.dilation}"
        )
    return {"auto_pad": "SAME_UPPER"}


def _pads_of_axis(conf: Any, axis: int, size: int | None) -> tuple[int, int] | None:
    """Return the padding before and behind an axis; None if its size decides."""
    stride = conf.stride[axis]
    kernel, dilation = conf.kernel_size[axis], conf.dilation[axis]
    if size is None and stride > 1:
        return None
    # With a stride of 1 it is the same for every size.
    placed = window_axis(size or 1, kernel, stride, 0, dilation, "same")
    return placed.before, max(0, placed.span - placed.before - placed.size)


def write_convolution(graph: Graph, part: Part, x: str) -> str:
    """Write a cross-correlation of series, images or volumes."""
    weight = part.params["W"]
    n = weight.ndim - 2
    return _written(graph, part, x, weight.transpose(n + 1, n, *range(n)))


def write_depthwise_convolution(graph: Graph, part: Part, x: str) -> str:
    """Write a cross-correlation of each channel by itself."""
    weight = part.params["W"]
    height, width, n_in, multiplier = weight.shape
    kernels = weight.transpose(2, 3, 0, 1).reshape(n_in * multiplier, 1, height, width)
    return _written(graph, part, x, kernels, group=n_in)


def write_separable_convolution(graph: Graph, part: Part, x: str) -> str:
    """Write a cross-correlation of each channel by itself, and one of single pixels."""
    weight, pointwise = part.params["W"], part.params["pW"]
    multiplier, n_in, height, width = weight.shape
    # Channel by channel, the kernels of one side by side.
    kernels = weight.transpose(1, 0, 2, 3).reshape(n_in * multiplier, 1, height, width)
    x = graph.op(
        "Conv",
        x,
        graph.floats(kernels, "W"),
        group=n_in,
        **window_attributes(part),
    )
    y = graph.op("Conv", x, graph.floats(pointwise, "pW"), *_bias(graph, part))
    return _activated(graph, part, y)


def write_deconvolution(graph: Graph, part: Part, x: str) -> str:
    """Write the transpose of a cross-correlation."""
    conf, weight = part.conf, part.params["W"]
    n = weight.ndim - 2
    attributes = {
        "kernel_shape": list(conf.kernel_size),
        "strides": list(conf.stride),
        "dilations": list(conf.dilation),
        **_transposed_pads(conf),
    }
    y = graph.op(
        "ConvTranspose",
        x,
        graph.floats(weight.transpose(n + 1, n, *range(n)), "W"),
        *_bias(graph, part),
        **attributes,
    )
    return _activated(graph, part, y)


def _written(
    graph: Graph, part: Part, x: str, kernels: FloatArray, *, group: int = 1
) -> str:
    """Write a convolution with kernels (out, in, *window)."""
    is_series = isinstance(part.input_type, Recurrent)
    if is_series:
        x = graph.transposed(x, 0, 2, 1)
    y = graph.op(
        "Conv",
        x,
        graph.floats(np.ascontiguousarray(kernels), "W"),
        *_bias(graph, part),
        group=group,
        **window_attributes(part),
    )
    if is_series:
        y = graph.transposed(y, 0, 2, 1)
    return _activated(graph, part, y)


def _bias(graph: Graph, part: Part) -> list[str]:
    return [graph.floats(part.params["b"], "b")] if "b" in part.params else []


def _activated(graph: Graph, part: Part, y: str) -> str:
    return activate(graph, part.conf, y, softmax_axis(part))


def _transposed_pads(conf: Any) -> dict[str, list[int]]:
    """Return the padding with which the output has stride times the size."""
    if conf.convolution_mode != "same":
        return {"pads": [*conf.padding, *conf.padding]}
    # What the windows reach beyond the output; it is negative where they leave gaps.
    beyond = [
        reach(kernel, dilation) - stride
        for kernel, dilation, stride in zip(
            conf.kernel_size, conf.dilation, conf.stride, strict=True
        )
    ]
    before = [max(0, total) // 2 for total in beyond]
    behind = [max(0, total) - cut for total, cut in zip(beyond, before, strict=True)]
    return {
        "pads": [*before, *behind],
        "output_padding": [max(0, -total) for total in beyond],
    }
