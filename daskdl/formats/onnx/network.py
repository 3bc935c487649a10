"""A whole network as a graph of ONNX operators. Pure."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daskdl.arrays.namespace import to_host
from daskdl.checks import some
from daskdl.data.normalizers.normalizer import Group, Normalizer
from daskdl.data.normalizers.strategies import Direction, Step
from daskdl.errors import FormatError
from daskdl.formats.onnx.graph import Graph, Part
from daskdl.formats.onnx.reshaping import from_data_format, to_data_format
from daskdl.formats.onnx.table import WRITERS
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.network import Network

__all__ = ["input_names", "network_graph", "not_covered", "output_names"]

# ONNX's names of the steps of normalizers.
_OPERATORS = {"subtract": "Sub", "divide": "Div", "multiply": "Mul", "add": "Add"}


def network_graph(network: Network[Any], normalizer: Normalizer | None = None) -> Graph:
    """Return the forward pass of a network in inference mode.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Not changed.
    normalizer : Normalizer, optional
        What features go through first, and outputs last.

    Returns
    -------
    Graph
        Reads values called :func:`input_names`, and ends in :func:`output_names`.

    Raises
    ------
    FormatError
        If ONNX has no form for a layer or vertex, or for an option of one.
    OptionError
        If the normalizer has learnt nothing yet.
    ShapeError
        If it is for other inputs or outputs.
    """
    missing = not_covered(network)
    if missing:
        raise FormatError(
            f"ONNX: every layer and vertex must be of a kind that ONNX covers, got "
            f"{some(missing)}. The guide lists the kinds under ONNX."
        )
    graph = Graph(WRITERS)
    values: dict[str, str] = {}
    steps = _steps(normalizer, "features", "transform", network.input_types)
    for name, read, input_type, each in zip(
        input_names(network),
        _read_names(network),
        network.input_types,
        steps,
        strict=True,
    ):
        x = _stepped(graph, each, name)
        graph.inputs[name] = values[read] = from_data_format(graph, input_type, x)
    params = {name: to_host(array) for name, array in network.param_table().items()}
    for node in network.nodes:
        values[node.name] = _written(graph, node, values, params)
    by_name = {node.name: node for node in network.nodes}
    output_types = [spec.type for spec in network.outputs]
    steps = _steps(normalizer, "labels", "revert", output_types)
    for name, inside, each in zip(
        output_names(network), _output_nodes(network), steps, strict=True
    ):
        y = to_data_format(graph, by_name[inside].output_type, values[inside])
        graph.name_output(_stepped(graph, each, y), name)
    return graph


def input_names(network: Network[Any]) -> list[str]:
    """Return the names of the inputs: as in the graph, or ``input``."""
    conf = network.conf
    if isinstance(conf, MultiLayerConfiguration):
        return ["input"]
    return list(conf.inputs)


def output_names(network: Network[Any]) -> list[str]:
    """Return the names of the outputs: as in the graph, or ``output``."""
    conf = network.conf
    if isinstance(conf, MultiLayerConfiguration):
        return ["output"]
    return list(conf.outputs)


def not_covered(network: Network[Any]) -> list[str]:
    """Return the layers and vertices of kinds that ONNX does not cover.

    Returns
    -------
    list of str
        Each with its name and kind, as ``name (Kind)``.
    """
    found = []
    for node in network.nodes:
        held: Any = node.conf
        while held is not None:
            known = WRITERS.layers if isinstance(held, LayerConf) else WRITERS.vertices
            if type(held) not in known:
                found.append(f"{node.name} ({type(held).__name__})")
            held = getattr(held, "layer", getattr(held, "vertex", None))
    return found


def _steps(
    normalizer: Normalizer | None,
    group: Group,
    direction: Direction,
    types: Sequence[InputType],
) -> list[list[Step]]:
    """Return the normalizer's operations on inputs or outputs, in their data format."""
    if normalizer is None:
        return [[] for _ in types]
    n_axes = [len(kind.border_shape) + 1 for kind in types]
    try:
        return normalizer.all_steps(group, direction, n_axes, np.float32)
    except (AttributeError, NotImplementedError) as error:
        raise FormatError(
            f"ONNX: normalizer must say its steps, got {type(normalizer).__name__}. "
            "Leave it out with normalizer=None, and apply it to the features before."
        ) from error


def _stepped(graph: Graph, steps: Sequence[Step], x: str) -> str:
    """Write the steps of a normalizer."""
    for operation, operand in steps:
        x = graph.op(_OPERATORS[operation], x, graph.floats(operand, "normalizer"))
    return x


def _written(
    graph: Graph, node: Node, values: dict[str, str], params: dict[str, Any]
) -> str:
    part = Part(
        node.name,
        node.conf,
        tuple(inside_type(input_type) for input_type in node.input_types),
        inside_type(node.output_type),
        {item.name: params[f"{node.key}_{item.name}"] for item in node.parameters},
    )
    inputs = [values[name] for name in node.inputs]
    if isinstance(node.conf, LayerConf):
        return graph.layer(part, inputs[0])
    return graph.vertex(part, inputs)


def _read_names(network: Network[Any]) -> Sequence[str]:
    """Return the names by which layers read the inputs."""
    if isinstance(network.conf, MultiLayerConfiguration):
        return network.nodes[0].inputs
    return list(network.conf.inputs)


def _output_nodes(network: Network[Any]) -> Sequence[str]:
    if isinstance(network.conf, MultiLayerConfiguration):
        return [network.nodes[-1].name]
    return list(network.conf.outputs)
