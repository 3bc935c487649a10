"""Configurations of DL4J, from JSON objects to mappings that say the same, and back.

A mapping is what :func:`daskdl.nn.conf.network.configuration_from_dict` takes, but for
`input` or `inputs`, which DL4J does not keep, and with the `variables` of each layer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daskdl.dl4j.network.json_objects import (
    Json,
    expect_flag,
    expect_list,
    expect_mapping,
    expect_names,
    look_up,
    shown,
)
from daskdl.dl4j.network.layers import read_layer, write_layer
from daskdl.dl4j.network.preprocessors import PREPROCESSOR
from daskdl.dl4j.network.vertices import PACKAGE, read_vertex, write_vertex
from daskdl.errors import FormatError

_DTYPES = {"FLOAT": "float32", "DOUBLE": "float64"}
# What they say is computed with 32 bits here.
_NARROW_DTYPES = {"HALF": "float32", "BFLOAT16": "float32"}
_BACKPROP = {"Standard": "standard", "TruncatedBPTT": "truncated_bptt"}
# Ten times as many as the deepest networks that have been published.
_MOST_PARTS = 10_000
_MOST_INPUTS = 1000
# What DL4J writes and nothing here depends on: kept if it differs.
_NETWORK_KEPT: dict[str, Json] = {
    "cacheMode": "NONE",
    "inferenceWorkspaceMode": "ENABLED",
    "trainingWorkspaceMode": "ENABLED",
}
_LAYER_KEPT: dict[str, Json] = {
    "minimize": True,
    "stepFunction": None,
}
_SGD = "STOCHASTIC_GRADIENT_DESCENT"
_LAYER_VERTEX = f"{PACKAGE}LayerVertex"


@dataclass(frozen=True)
class Counters:
    """How far the training of a network has come."""

    iteration: int = 0
    epoch: int = 0


def read_configuration(
    data: Mapping[str, Json], where: str
) -> tuple[dict[str, Any], Counters]:
    """Return the mapping of a network, and its counters.

    Parameters
    ----------
    data : mapping
        The JSON object of a MultiLayerConfiguration or ComputationGraphConfiguration.
    where : str
        For messages: the file and its entry.

    Returns
    -------
    mapping : dict
        With `layers`, or with `vertices`, `inputs` (a list of names) and `outputs`.
        Preprocessors and variables are in the layers.
    counters : Counters

    Raises
    ------
    FormatError
        If something is missing or unknown.
    """
    if "confs" in data:
        confs = expect_list(data["confs"], f"{where}: confs")
        _check_number(confs, f"{where}: confs")
        network = _read_layers(data, confs, where)
        shared = expect_mapping(confs[0], f"{where}: confs[0]") if confs else {}
    elif "vertices" in data:
        network = _read_vertices(data, where)
        shared = expect_mapping(
            data.get("defaultConfiguration"), f"{where}: defaultConfiguration"
        )
    else:
        raise FormatError(
            f"{where}: must have the key 'confs' or 'vertices', got "
            f"{shown(sorted(data)[:8])}."
        )
    network.update(_read_shared(data, shared, where))
    counters = Counters(
        _count(data, "iterationCount", where), _count(data, "epochCount", where)
    )
    return network, counters


def _read_shared(
    data: Mapping[str, Json], conf: Mapping[str, Json], where: str
) -> dict[str, Any]:
    dtype = data.get("dataType", conf.get("dataType", "FLOAT"))
    kept = {
        name: data[name]
        for name, usual in _NETWORK_KEPT.items()
        if name in data and data[name] != usual
    }
    kept.update(
        {
            name: conf[name]
            for name, usual in _LAYER_KEPT.items()
            if name in conf and conf[name] != usual
        }
    )
    if dtype not in list(_DTYPES):
        kept["dataType"] = dtype
    network = {
        "seed": conf.get("seed", 12345),
        "dtype": look_up(_DTYPES | _NARROW_DTYPES, dtype, f"{where}: dataType"),
        "mini_batch": expect_flag(conf.get("miniBatch", True), f"{where}: miniBatch"),
        "optimization_algo": str(conf.get("optimizationAlgo", _SGD)).lower(),
        "max_num_line_search_iterations": conf.get("maxNumLineSearchIterations", 5),
        "backprop_type": look_up(
            _BACKPROP, data.get("backpropType", "Standard"), f"{where}: backpropType"
        ),
        "tbptt_fwd_length": data.get("tbpttFwdLength", 20),
        "tbptt_back_length": data.get("tbpttBackLength", 20),
        "validate_output_layer": expect_flag(
            data.get("validateOutputLayerConfig", True),
            f"{where}: validateOutputLayerConfig",
        ),
    }
    return {**network, "dl4j": kept} if kept else network


def _check_number(parts: Sequence[Json] | Mapping[str, Json], where: str) -> None:
    if len(parts) > _MOST_PARTS:
        raise FormatError(
            f"{where}: must be at most {_MOST_PARTS} layers or vertices, got "
            f"{len(parts)}."
        )


def _count(data: Mapping[str, Json], name: str, where: str) -> int:
    value = data.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise FormatError(f"{where}: {name} must be a count, got {shown(value)}.")
    return value


def _read_layers(
    data: Mapping[str, Json], confs: Sequence[Json], where: str
) -> dict[str, Any]:
    preprocessors = data.get("inputPreProcessors")
    layers = [
        _read_conf(conf, f"{where}: confs[{index}]") for index, conf in enumerate(confs)
    ]
    by_number = {str(index): layer for index, layer in enumerate(layers)}
    for key, item in expect_mapping(
        {} if preprocessors is None else preprocessors, f"{where}: inputPreProcessors"
    ).items():
        place = f"{where}: inputPreProcessors[{shown(key)}]"
        if key not in by_number:
            raise FormatError(
                f"{place}: must belong to one of the {len(layers)} layers, got "
                f"{shown(key)}."
            )
        by_number[key]["preprocessor"] = PREPROCESSOR.read(item, place)
    return {"layers": layers}


def _read_conf(conf: Json, where: str) -> dict[str, Any]:
    """Return the mapping of the layer in a NeuralNetConfiguration."""
    mapping = expect_mapping(conf, where)
    layer = read_layer(mapping.get("layer"), f"{where}.layer")
    variables = expect_names(mapping.get("variables", []), f"{where}.variables")
    layer["variables"] = variables
    held = layer
    while isinstance(held.get("layer"), dict):
        held = held["layer"]
    if held["type"] == "batch_normalization" and variables:
        # DL4J asks only where it is not frozen, and takes an old frozen layer's
        # variance for a logarithm.
        held["use_log_std"] = "var" not in variables
    return layer


def _read_vertices(data: Mapping[str, Json], where: str) -> dict[str, Any]:
    reads = expect_mapping(data.get("vertexInputs"), f"{where}: vertexInputs")
    described = expect_mapping(data["vertices"], f"{where}: vertices")
    _check_number(described, f"{where}: vertices")
    vertices = {}
    for name, item in described.items():
        place = f"{where}: vertices[{shown(name)}]"
        mapping = expect_mapping(item, place)
        if mapping.get("@class") == _LAYER_VERTEX:
            vertex = _read_conf(mapping.get("layerConf"), f"{place}.layerConf")
            if mapping.get("preProcessor") is not None:
                vertex["preprocessor"] = PREPROCESSOR.read(
                    mapping["preProcessor"], f"{place}.preProcessor"
                )
        else:
            vertex = read_vertex(mapping, place)
        sources = expect_names(reads.get(name), f"{where}: vertexInputs[{shown(name)}]")
        vertices[name] = {**vertex, "inputs": sources}
    inputs = expect_names(data.get("networkInputs"), f"{where}: networkInputs")
    if len(inputs) > _MOST_INPUTS:
        raise FormatError(
            f"{where}: networkInputs: must be at most {_MOST_INPUTS}, got "
            f"{len(inputs)}."
        )
    network = {
        "inputs": inputs,
        "vertices": vertices,
        "outputs": expect_names(data.get("networkOutputs"), f"{where}: networkOutputs"),
    }
    order = data.get("topologicalOrderStr")
    if order is not None:
        network["order"] = expect_names(order, f"{where}: topologicalOrderStr")
    return network


def write_configuration(
    network: Mapping[str, Any], counters: Counters = Counters()
) -> dict[str, Json]:
    """Return the JSON object of DL4J for a mapping: :func:`read_configuration` undone.

    Parameters
    ----------
    network : mapping
        As :func:`read_configuration` returns it, nothing left to defaults.
    counters : Counters
        How far the training has come.

    Raises
    ------
    FormatError
        If DL4J cannot describe the network.
    """
    kept = network.get("dl4j") or {}
    common = {name: kept.get(name, usual) for name, usual in _NETWORK_KEPT.items()}
    common.update(
        backpropType={name: java for java, name in _BACKPROP.items()}[
            network["backprop_type"]
        ],
        dataType=_java_dtype(network),
        epochCount=counters.epoch,
        iterationCount=counters.iteration,
        tbpttBackLength=network["tbptt_back_length"] or network["tbptt_fwd_length"],
        tbpttFwdLength=network["tbptt_fwd_length"],
        # Older files of ours keep it among what nothing here depends on.
        validateOutputLayerConfig=network["validate_output_layer"]
        and kept.get("validateOutputLayerConfig", True),
    )
    if "layers" in network:
        common["confs"] = [
            # DL4J copies the epochs to the layers, but not the iterations.
            {**_write_conf(layer, network), "epochCount": counters.epoch}
            for layer in network["layers"]
        ]
        common["inputPreProcessors"] = {
            str(index): PREPROCESSOR.write(layer["preprocessor"])
            for index, layer in enumerate(network["layers"])
            if layer.get("preprocessor") is not None
        }
    else:
        common.update(_write_graph(network))
    return {name: common[name] for name in sorted(common)}


def _java_dtype(network: Mapping[str, Any]) -> str:
    kept = (network.get("dl4j") or {}).get("dataType")
    return kept or {name: java for java, name in _DTYPES.items()}[network["dtype"]]


def _write_conf(
    layer: Mapping[str, Any] | None, network: Mapping[str, Any]
) -> dict[str, Json]:
    kept = network.get("dl4j") or {}
    conf = {name: kept.get(name, usual) for name, usual in _LAYER_KEPT.items()}
    conf.update(
        cacheMode=kept.get("cacheMode", "NONE"),
        dataType=_java_dtype(network),
        epochCount=0,
        iterationCount=0,
        layer=None if layer is None else write_layer(layer),
        maxNumLineSearchIterations=network["max_num_line_search_iterations"],
        miniBatch=network["mini_batch"],
        optimizationAlgo=network["optimization_algo"].upper(),
        seed=network["seed"],
        variables=[] if layer is None else list(layer.get("variables", [])),
    )
    return {name: conf[name] for name in sorted(conf)}


def _write_graph(network: Mapping[str, Any]) -> dict[str, Json]:
    vertices = network["vertices"]
    written: dict[str, Json] = {}
    for name, vertex in vertices.items():
        if "variables" in vertex:
            preprocessor = vertex.get("preprocessor")
            written[name] = {
                "@class": _LAYER_VERTEX,
                "layerConf": _write_conf(vertex, network),
                "outputVertex": False,
                "preProcessor": preprocessor and PREPROCESSOR.write(preprocessor),
            }
        else:
            written[name] = write_vertex(vertex)
    names = [*network["inputs"], *vertices]
    order = network.get("order")
    default = _write_conf(None, network)
    default["variables"] = [
        f"{name}_{variable}"
        for name, vertex in vertices.items()
        for variable in vertex.get("variables", [])
    ]
    return {
        "defaultConfiguration": default,
        "networkInputs": list(network["inputs"]),
        "networkOutputs": list(network["outputs"]),
        "topologicalOrder": order and [names.index(name) for name in order],
        "topologicalOrderStr": order,
        "vertexInputs": {name: list(item["inputs"]) for name, item in vertices.items()},
        "vertices": written,
    }
