"""Properties that DL4J keeps and daskdl infers, layer by layer."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.locally_connected import LocallyConnectingConf
from daskdl.nn.layers.windows import window_of
from daskdl.nn.vertices.attention import AttentionVertex

_Inferred = Callable[[LayerConf, InputType], dict[str, Any]]


def inferred_properties(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    """Return the properties that follow from a layer's input.

    Parameters
    ----------
    conf : LayerConf
        Filled.
    input_type : InputType
        What the layer gets.
    """
    function = _BY_TAG.get(conf.type)
    return {} if function is None else function(conf, input_type)


def inferred_vertex_properties(
    conf: VertexConf, input_types: Sequence[InputType]
) -> dict[str, Any]:
    """Return the properties that follow from the inputs of a vertex."""
    if not isinstance(conf, AttentionVertex):
        return {}
    shapes = {p.name: list(p.shape_in_file) for p in conf.parameters(input_types)}
    inputs = ["queries", "keys", "values"]
    return {
        "vertexParams": {"biasParams": {}, "inputs": inputs, "weightParams": shapes}
    }


def _same_size(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    size = features_of(input_type)
    return {"nin": size, "nout": size}


def _bidirectional(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    output = conf.output_type(input_type)
    return {"nin": features_of(input_type), "nout": features_of(output)}


def _samediff(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    """Return the shapes of weights and biases, by name."""
    parameters = conf.parameters(input_type)
    biases = {p.name: p for p in parameters if "biases" in p.treatment.groups}
    weights = {p.name: p for p in parameters if p.name not in biases}
    return {
        "layerParams": {
            "biasParams": {name: list(p.shape_in_file) for name, p in biases.items()},
            "weightParams": {
                name: list(p.shape_in_file) for name, p in weights.items()
            },
        }
    }


def _locally_connected(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    values = conf.model_dump()
    kernel = values["kernel_size"]
    sizes = conf.output_type(input_type).shape[:-1]
    known: dict[str, Any] = {
        **_samediff(conf, input_type),
        "featureDim": math.prod(kernel) * values["n_in"],
        "outputSize": sizes[0] if len(sizes) == 1 else list(sizes),
    }
    padding = same_padding(conf, input_type)
    if padding is not None:
        behind = padding[1]
        name = "paddingR" if len(behind) == 1 else "paddingBr"
        known[name] = behind[0] if len(behind) == 1 else behind
    return known


def same_padding(
    conf: LayerConf, input_type: InputType
) -> tuple[list[int], list[int]] | None:
    """Return the zeros that mode ``same`` puts in front of and behind each axis.

    None stands for another mode, or a layer that is not locally connected.
    """
    if not isinstance(conf, LocallyConnectingConf) or conf.convolution_mode != "same":
        return None
    sizes = [size for size in conf.entering(input_type).shape[:-1] if size is not None]
    axes = window_of(conf, tuple(sizes)).axes
    before = [axis.before for axis in axes]
    return before, [axis.span - axis.size - axis.before for axis in axes]


def _primary_capsules(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    return {
        **_samediff(conf, input_type),
        "inputChannels": features_of(input_type),
    }


def _capsule(conf: LayerConf, input_type: InputType) -> dict[str, Any]:
    size, capsules = input_type.shape
    return {
        **_samediff(conf, input_type),
        "inputCapsules": capsules,
        "inputCapsuleDimensions": size,
    }


_BY_TAG: dict[str, _Inferred] = {
    "batch_normalization": _same_size,
    "bidirectional": _bidirectional,
    "self_attention": _samediff,
    "learned_self_attention": _samediff,
    "recurrent_attention": _samediff,
    "locally_connected1d": _locally_connected,
    "locally_connected2d": _locally_connected,
    "primary_capsules": _primary_capsules,
    "capsule": _capsule,
    "capsule_strength": _samediff,
}
