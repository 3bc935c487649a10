"""From networks here to the JSON of DL4J's configurations.

What DL4J needs to be told and daskdl infers is filled in: sizes, the data formats of
layers, and the preprocessors between layers of different shapes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from daskdl.dl4j.network.configuration import Counters, write_configuration
from daskdl.dl4j.network.data_formats import data_formats
from daskdl.dl4j.network.explicit_options import explicit_options
from daskdl.dl4j.network.inferred_properties import (
    inferred_properties,
    inferred_vertex_properties,
)
from daskdl.dl4j.network.json_objects import Json
from daskdl.dl4j.network.layers import BY_TAG
from daskdl.dl4j.network.unsupported_options import refuse_unsupported_options
from daskdl.dl4j.network.variables import variables_of
from daskdl.dl4j.network.vertices import BY_TAG as VERTICES
from daskdl.errors import FormatError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.topology import Node, entering
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.bidirectional import Bidirectional
from daskdl.nn.layers.frozen import Frozen
from daskdl.nn.layers.frozen_with_backprop import FrozenWithBackprop
from daskdl.nn.layers.wrapper import WrapperConf
from daskdl.nn.param_roles import own_names
from daskdl.nn.preprocessors.series import FeedForwardToRnn
from daskdl.nn.step import StepNetwork
from daskdl.nn.vertices.preprocessor_vertex import PreprocessorVertex

# Layers that flatten images, and work on each step of series, by themselves.
_AFFINE = ("dense", "output", "rnn_output", "center_loss_output", "ocnn_output")
_NETWORK_OPTIONS = (
    "seed",
    "dtype",
    "mini_batch",
    "optimization_algo",
    "max_num_line_search_iterations",
    "backprop_type",
    "tbptt_fwd_length",
    "tbptt_back_length",
    "validate_output_layer",
    "dl4j",
)


def export_configuration(network: StepNetwork[Any]) -> dict[str, Json]:
    """Return the JSON object of DL4J that describes a network and its counters.

    Parameters
    ----------
    network : Network
        With or without training behind it.

    Returns
    -------
    dict
        MultiLayerConfiguration or ComputationGraphConfiguration of DL4J 1.0.0-M2.1.

    Raises
    ------
    FormatError
        If DL4J has no word for something in it.
    """
    conf = network.conf
    mapping: dict[str, Any] = {
        option: getattr(conf, option) for option in _NETWORK_OPTIONS
    }
    in_rows: set[str] = set()
    parts = {node.name: _part(node, network, in_rows) for node in network.nodes}
    written_again = _series_again(parts, network, in_rows)
    if isinstance(conf, MultiLayerConfiguration):
        mapping["layers"] = list(parts.values())
    else:
        inputs = list(conf.inputs)
        mapping["inputs"] = inputs
        # DL4J numbers vertices as they were defined.
        vertices = {name: parts[name] for name in conf.vertices}
        mapping["vertices"] = {**vertices, **written_again}
        mapping["outputs"] = list(conf.outputs)
        mapping["order"] = [*inputs, *_in_order(parts, written_again)]
    counters = Counters(network.iteration_count, network.epoch_count)
    return write_configuration(mapping, counters)


def _series_again(
    parts: Mapping[str, dict[str, Any]],
    network: StepNetwork[Any],
    in_rows: Collection[str],
) -> dict[str, dict[str, Any]]:
    """Let vertices read series where a layer in front of them leaves rows.

    Parameters
    ----------
    parts : mapping of str to dict
        All that is written, by name; inputs of vertices are changed.

    Returns
    -------
    mapping of str to dict
        Vertices more, by name: each makes series of the rows of one layer.
    """
    added: dict[str, dict[str, Any]] = {}
    for node in network.nodes:
        if isinstance(node.conf, LayerConf):
            continue
        reads = list(node.inputs)
        for place, (source, came) in enumerate(
            zip(node.inputs, node.input_types, strict=True)
        ):
            if source not in in_rows or not isinstance(came, Recurrent):
                continue
            name = f"{source}-series"
            if name in parts:
                raise FormatError(
                    f"DL4J: {name!r} must be the vertex that makes series of what "
                    f"{source!r} gives, got one of that name. Rename it."
                )
            again = FeedForwardToRnn(data_format=came.data_format)
            vertex = PreprocessorVertex(preprocessor=again, inputs=(source,))
            added[name] = vertex.model_dump(mode="json", by_alias=True)
            reads[place] = name
        parts[node.name]["inputs"] = reads
    return added


def _in_order(names: Iterable[str], added: Mapping[str, Any]) -> Iterator[str]:
    """Yield each name, and behind a layer the vertex that was added for it."""
    for name in names:
        yield name
        if f"{name}-series" in added:
            yield f"{name}-series"


def _part(node: Node, network: StepNetwork[Any], in_rows: set[str]) -> dict[str, Any]:
    if not isinstance(node.conf, LayerConf):
        refuse_unsupported_options(node.conf, VERTICES)
        part = node.conf.model_dump(mode="json", by_alias=True)
        part.update(explicit_options(node.conf, *node.input_types))
        kept = {
            **part["dl4j"],
            **inferred_vertex_properties(node.conf, node.input_types),
        }
        return {**part, "dl4j": kept, "inputs": list(node.inputs)}
    part = layer_mapping(node.conf, node.entering_type)
    preprocessor = part.get("preprocessor") or _preprocessor(node, network, in_rows)
    variables = part["dl4j"].pop("variables", variables_of(node))
    return {
        **part,
        "preprocessor": preprocessor,
        "variables": variables,
        "inputs": list(node.inputs),
    }


def layer_mapping(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    """Return a filled layer as a mapping in which DL4J finds all that it needs."""
    refuse_unsupported_options(conf, BY_TAG)
    mapping = conf.model_dump(mode="json", by_alias=True)
    mapping.update(explicit_options(conf, input_type))
    mapping["dl4j"] = {
        **data_formats(conf, input_type),
        **mapping.get("dl4j", {}),
        **inferred_properties(conf, input_type),
    }
    if isinstance(conf, Bidirectional):
        _check_both_ways(conf, input_type)
    if isinstance(conf, WrapperConf):
        inner = entering(conf.layer, conf.inner_type(input_type))
        mapping["layer"] = layer_mapping(conf.layer, inner)
    keep = mapping.pop("keep_probability", None)
    if keep is not None and keep < 1 and mapping.get("dropout") is None:
        mapping["dropout"] = {"type": "dropout", "keep_probability": keep}
    if mapping.get("constraints"):
        mapping["constraints"] = [
            {**item, "apply_to": _constrained(item["apply_to"], conf, input_type)}
            for item in mapping["constraints"]
        ]
    return mapping


def _check_both_ways(conf: Bidirectional, input_type: InputType) -> None:
    """Refuse constraints that hold a parameter of one direction only."""
    names = [item.name for item in conf.parameters(input_type)]
    given = getattr(conf.trained, "constraints", None) or ()
    for constraint in given:
        one_way = set(constraint.apply_to) & (set(names) - set(own_names(names)))
        if not isinstance(constraint.apply_to, str) and one_way:
            raise FormatError(
                "DL4J: constraints in Bidirectional must hold both directions, got "
                f"apply_to {constraint.apply_to!r}. Use the names of the wrapped layer."
            )


def _constrained(apply_to: Any, conf: LayerConf, input_type: InputType) -> list[str]:
    """Return the names of the parameters that a group stands for."""
    if not isinstance(apply_to, str):
        return list(apply_to)
    return [
        item.name
        for item in conf.parameters(input_type)
        if apply_to in item.treatment.groups
    ]


def _preprocessor(
    node: Node, network: StepNetwork[Any], in_rows: set[str]
) -> dict[str, Any] | None:
    """Return the preprocessor that DL4J needs in front of a layer, and daskdl does not.

    Parameters
    ----------
    in_rows : set of str
        Nodes whose series are rows there, one for each step; this one is added if it
        is such a node.
    """
    came, tag = node.input_types[0], _acting(node.conf).type
    network_input = _network_input(node, network)
    is_affine = tag in _AFFINE
    if isinstance(network_input, ConvolutionalFlat):
        if is_affine:
            return None
        return {"type": "feed_forward_to_cnn", **_sizes(network_input)}
    if isinstance(came, Convolutional) and is_affine:
        return {
            "type": "cnn_to_feed_forward",
            **_sizes(came),
            "data_format": came.data_format,
        }
    if isinstance(came, Convolutional3D) and is_affine:
        return {
            "type": "cnn3d_to_feed_forward",
            "depth": came.depth,
            **_sizes(came),
            "data_format": came.data_format,
        }
    if not isinstance(came, Recurrent):
        return None
    arrives_in_rows = not in_rows.isdisjoint(node.inputs)
    if tag == "dense":
        in_rows.add(node.name)
        if arrives_in_rows:
            return None
        return {"type": "rnn_to_feed_forward", "data_format": came.data_format}
    if arrives_in_rows:
        return {"type": "feed_forward_to_rnn", "data_format": came.data_format}
    return None


def _acting(conf: LayerConf | VertexConf) -> LayerConf | VertexConf:
    """Return the layer that frozen ones hold: theirs is the preprocessor in DL4J."""
    while isinstance(conf, Frozen | FrozenWithBackprop):
        conf = conf.layer
    return conf


def _network_input(node: Node, network: StepNetwork[Any]) -> InputType | None:
    """Return the type of the network input that a node reads, if it reads one."""
    conf = network.conf
    if isinstance(conf, MultiLayerConfiguration):
        return conf.input if node.key == "0" else None
    found: Mapping[str, InputType] = conf.inputs
    return found.get(node.inputs[0])


def _sizes(
    images: Convolutional | Convolutional3D | ConvolutionalFlat,
) -> dict[str, Any]:
    if images.height is None or images.width is None:
        raise FormatError(
            f"DL4J: needs the size of images that are flattened, got {images}. Give "
            "the size of the network's input."
        )
    return {
        "height": images.height,
        "width": images.width,
        "channels": images.channels,
    }
