"""Which layer gets what: types inferred through a sequence or a graph.

Everything that cannot be is refused here, with the path of the key to change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from daskdl.checks import did_you_mean
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.errors import PathError, got, some_of
from daskdl.nn.conf.input_type import (
    FeedForward,
    InputType,
    inside_type,
    is_open,
    with_features,
)
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.order import checked_order, topological_order
from daskdl.nn.conf.output_layers import check_output_layer
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.vertex import VertexConf

Part: TypeAlias = LayerConf | VertexConf


@dataclass(frozen=True)
class Node:
    """One layer or vertex in its place.

    Parameters
    ----------
    key : str
        What its parameters' names begin with: ``"0"`` in a sequence, else the name.
    name : str
        What messages call it.
    conf : LayerConf or VertexConf
        A layer is resolved: nothing is left to the network.
    inputs : tuple of str
        Names of the nodes and network inputs it reads.
    input_types : tuple of InputType
        What they bring, inside the network.
    output_type : InputType
        What comes out.
    """

    key: str
    name: str
    conf: Part
    inputs: tuple[str, ...]
    input_types: tuple[InputType, ...]
    output_type: InputType

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it learns, in the order in which it lies in the flat vector."""
        if isinstance(self.conf, VertexConf):
            return self.conf.parameters(self.input_types)
        return self.conf.parameters(self.entering_type)

    @property
    def labels_type(self) -> InputType:
        """What the labels are, if it is an output."""
        if isinstance(self.conf, VertexConf):
            return self.output_type
        return self.conf.labels_type(self.entering_type)

    @property
    def entering_type(self) -> InputType:
        """What a layer gets behind its preprocessor."""
        return entering(self.conf, self.input_types[0])


def entering(conf: Part, input_type: InputType) -> InputType:
    """Return the type of an input of a layer or vertex, behind its preprocessor."""
    if isinstance(conf, LayerConf) and conf.preprocessor is not None:
        return inside_type(conf.preprocessor.output_type(inside_type(input_type)))
    entered = inside_type(input_type)
    size = conf.dl4j.get("nin") if isinstance(conf, LayerConf) else None
    if isinstance(size, int) and isinstance(entered, FeedForward) and is_open(entered):
        # Of the inputs of a graph that are merged first, a file may say only what
        # reaches a layer behind.
        return with_features(entered, size)
    return entered


def learning_nodes(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the names of the nodes that a gradient has to reach.

    Parameters
    ----------
    nodes : iterable of Node
        In topological order.

    Returns
    -------
    frozenset of str
        Nodes that have parameters or read, at first or second hand, one that has; but
        nothing is heard of those in front of a frozen layer.
    """
    names: set[str] = set()
    for node in nodes:
        if isinstance(node.conf, LayerConf) and node.conf.stops_gradient:
            continue
        if node.parameters or not names.isdisjoint(node.inputs):
            names.add(node.name)
    return frozenset(names)


def sequence(
    network: NetworkConf, layers: Sequence[LayerConf], input_type: InputType
) -> list[Node]:
    """Return the nodes of layers that follow one another.

    Raises
    ------
    OptionError
        If a layer cannot take what the one before it gives, if two share a name, or if
        one that is not the last is an output layer.
    """
    nodes: list[Node] = []
    names: set[str] = set()
    defaults = network.defaults()
    current, previous = inside_type(input_type), "input"
    for index, layer in enumerate(layers):
        _check_in_sequence(layer, index, len(layers))
        name = layer.name or f"layer{index}"
        if name in names:
            raise PathError(
                f"must differ from the other layers' names, got {got(name)}.",
                *("layers", index, "name"),
            )
        try:
            node = _layer_node(
                defaults, layer, str(index), name, (previous,), (current,)
            )
        except PathError as error:
            raise error.below("layers", index) from None
        nodes.append(node)
        names.add(name)
        current, previous = node.output_type, name
    return nodes


def _check_in_sequence(layer: LayerConf, index: int, n_layers: int) -> None:
    is_last = index == n_layers - 1
    kind = type(layer).__name__
    if layer.inputs:
        raise PathError(
            f"must be left out: layers follow one another, got {got(layer.inputs)}. "
            "Use a ComputationGraphConfiguration for anything else.",
            *("layers", index, "inputs"),
        )
    if layer.is_output and not is_last:
        raise PathError(
            f"must be the last layer because it is an output layer, got {kind} with "
            f"{n_layers - 1 - index} behind it.",
            *("layers", index),
        )


def graph(
    network: NetworkConf,
    inputs: Mapping[str, InputType],
    vertices: Mapping[str, Part],
    outputs: Sequence[str],
    order: Sequence[str] | None = None,
) -> list[Node]:
    """Return the nodes of a graph in topological order, or in `order`.

    Raises
    ------
    OptionError
        If a name is unknown or taken twice, a vertex or input is not used, vertices
        form a cycle, `order` has a vertex in front of what it reads, or types do not
        fit.

    References
    ----------
    DL4J, ``ComputationGraph.topologicalSortOrder``: Kahn's algorithm with a first-in
    first-out queue, successors in the order in which they were defined. The order
    defines where parameters lie.
    """
    _check_names(inputs, vertices)
    _check_outputs(vertices, outputs)
    _check_used(inputs, vertices, outputs)
    types = {name: inside_type(input_type) for name, input_type in inputs.items()}
    reads = {name: conf.inputs for name, conf in vertices.items()}
    names = topological_order(inputs, reads)
    if order is not None:
        names = checked_order(order, inputs, reads)
    defaults = network.defaults()
    nodes = []
    for name in names:
        try:
            node = _graph_node(defaults, vertices[name], name, types)
        except PathError as error:
            raise error.below("vertices", name) from None
        nodes.append(node)
        types[name] = node.output_type
    return nodes


def _check_names(inputs: Mapping[str, InputType], vertices: Mapping[str, Part]) -> None:
    known = [*inputs, *vertices]
    for name, conf in vertices.items():
        if name in inputs:
            raise PathError("must not have the name of an input.", "vertices", name)
        if isinstance(conf, LayerConf) and conf.name not in (None, name):
            raise PathError(
                f"must be left out: the key {got(name)} is the name.",
                *("vertices", name, "name"),
            )
        if not conf.inputs:
            raise PathError(
                f"must name at least one of {some_of(known)}, got none.",
                *("vertices", name, "inputs"),
            )
        for source in conf.inputs:
            if source not in inputs and source not in vertices:
                raise PathError(
                    f"must name inputs or vertices, got {got(source)}."
                    f"{did_you_mean(source, known)}",
                    *("vertices", name, "inputs"),
                )
        reference = conf.reads_network_input if isinstance(conf, VertexConf) else None
        if reference is not None and reference not in inputs:
            raise PathError(
                f"must refer to a network input, one of {some_of(inputs)}, got "
                f"{got(reference)}.",
                *("vertices", name),
            )


def _check_outputs(vertices: Mapping[str, Part], outputs: Sequence[str]) -> None:
    for index, name in enumerate(outputs):
        if name not in vertices:
            raise PathError(
                f"must name a vertex, got {got(name)}.{did_you_mean(name, vertices)}",
                *("outputs", index),
            )
        if name in outputs[:index]:
            raise PathError(
                f"must name each vertex once, got {got(name)} again.", "outputs", index
            )


def _check_used(
    inputs: Mapping[str, InputType],
    vertices: Mapping[str, Part],
    outputs: Sequence[str],
) -> None:
    used = {source for conf in vertices.values() for source in conf.inputs}
    for name in inputs:
        if name not in used:
            raise PathError("must be read by some vertex.", "inputs", name)
    for name, conf in vertices.items():
        if name in used or name in outputs:
            continue
        if isinstance(conf, LayerConf) and conf.is_output:
            raise PathError(
                "must be named in outputs because it is an output layer.",
                *("vertices", name),
            )
        raise PathError(
            "must be read by some vertex or be an output.", "vertices", name
        )


def _graph_node(
    defaults: Mapping[str, Any],
    conf: Part,
    name: str,
    types: Mapping[str, InputType],
) -> Node:
    input_types = tuple(types[source] for source in conf.inputs)
    if isinstance(conf, VertexConf):
        output_type = conf.output_type(input_types)
        filled = conf.filled(defaults, input_types, name)
        return Node(name, name, filled, tuple(conf.inputs), input_types, output_type)
    return _layer_node(defaults, conf, name, name, tuple(conf.inputs), input_types)


def _layer_node(
    defaults: Mapping[str, Any],
    layer: LayerConf,
    key: str,
    name: str,
    inputs: tuple[str, ...],
    input_types: tuple[InputType, ...],
) -> Node:
    backprop_type = defaults["backprop_type"]
    if layer.reads_whole_series and backprop_type != "standard":
        raise PathError(
            f"must not be in a network with backprop_type {backprop_type!r} "
            "because it reads time series from both ends, got "
            f"{type(layer).__name__}. Use 'standard'."
        )
    entered = entering(layer, input_types[0])
    output_type = layer.output_type(entered)
    if not isinstance(output_type, InputType):
        raise PathError(
            f"must have an output_type that is an InputType, got {output_type!r}. Use "
            "input_type.replaced(size=...)."
        )
    conf = layer.filled(defaults, entered, name)
    _check_parameters(conf.parameters(entered))
    _check_search(defaults["optimization_algo"], conf)
    if conf.is_output:
        # For what it refuses: weights of a loss, say, that are too few.
        conf.labels_type(entered)
        check_output_layer(defaults, conf, output_type.shape[-1])
    return Node(key, name, conf, inputs, input_types, output_type)


def _check_parameters(parameters: Any) -> None:
    """Refuse what a layer of somebody's own may say of what it learns."""
    is_listed = isinstance(parameters, tuple | list)
    if not is_listed or not all(isinstance(item, Parameter) for item in parameters):
        raise PathError(
            f"must have parameters that are a tuple of Parameter, got {parameters!r}."
        )
    names = [item.name for item in parameters]
    if len(set(names)) < len(names):
        raise PathError(
            f"must have parameters of different names, got {some_of(names)}."
        )


def _check_search(algo: str, conf: LayerConf) -> None:
    """Refuse what searches along lines would not do."""
    if algo == "stochastic_gradient_descent":
        return
    kind = conf.trained and conf.trained.gradient_normalization
    goes_along_updates = "searches_along_updates" in conf.quirks
    if kind and kind != "none" and not goes_along_updates:
        raise PathError(
            f"must be 'none' in a network with optimization_algo {algo!r}, which needs "
            f"the derivative of the score, got {kind!r}.",
            "gradient_normalization",
        )
