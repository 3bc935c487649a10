"""Normalizations, and the rectifier with learned slopes, in ONNX."""

import numpy as np

from daskdl.formats.onnx.graph import Graph, Part, axis_of, feature_axis
from daskdl.nn.conf.input_type import Recurrent

__all__ = ["write_batch_normalization", "write_local_response", "write_prelu"]


def write_batch_normalization(graph: Graph, part: Part, x: str) -> str:
    """Write a normalization with the running mean and variance."""
    conf, params = part.conf, part.params
    mean = params["mean"]
    variance = params.get("var")
    if variance is None:
        variance = np.square(10.0 ** params["log10stdev"])
    gamma = params.get("gamma", np.full_like(mean, conf.gamma))
    beta = params.get("beta", np.full_like(mean, conf.beta))
    if feature_axis(part.input_type) == 1:
        return graph.op(
            "BatchNormalization",
            x,
            graph.floats(gamma, "gamma"),
            graph.floats(beta, "beta"),
            graph.floats(mean, "mean"),
            graph.floats(variance, "var"),
            epsilon=conf.eps,
        )
    # Series have their features last, where the operator does not look.
    scale = gamma / np.sqrt(variance + conf.eps)
    y = graph.op("Sub", x, graph.floats(mean, "mean"))
    y = graph.op("Mul", y, graph.floats(scale, "scale"))
    return graph.op("Add", y, graph.floats(beta, "beta"))


def write_local_response(graph: Graph, part: Part, x: str) -> str:
    """Write local response normalization."""
    conf = part.conf
    size = 2 * int(conf.n / 2) + 1
    return graph.op(
        "LRN",
        x,
        size=size,
        # ONNX divides it by the number of channels.
        alpha=conf.alpha * size,
        beta=conf.beta,
        bias=conf.k,
    )


def write_prelu(graph: Graph, part: Part, x: str) -> str:
    """Write ``x`` where it is at least 0, else the slope times it."""
    slopes = part.params["W"]
    if not isinstance(part.input_type, Recurrent) and slopes.ndim > 1:
        order = [axis_of(part.input_type, axis + 1) - 1 for axis in range(slopes.ndim)]
        slopes = slopes.transpose(np.argsort(order))
    return graph.op("PRelu", x, graph.floats(slopes, "W"))
