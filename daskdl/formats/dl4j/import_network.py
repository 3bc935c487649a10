"""From the JSON of DL4J's configurations to configurations here."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from daskdl.errors import FormatError, OptionError
from daskdl.formats.dl4j.configuration import Counters, read_configuration
from daskdl.formats.dl4j.data_formats import as_written
from daskdl.formats.dl4j.inputs import input_type
from daskdl.formats.dl4j.java import Json
from daskdl.formats.dl4j.legacy import modernized
from daskdl.formats.dl4j.variables import variables_of
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
    configuration_from_dict,
)
from daskdl.nn.conf.topology import Node

_MOST_BYTES = 64 << 20

Configuration = MultiLayerConfiguration | ComputationGraphConfiguration


def parse_json(text: str | bytes, who: str) -> dict[str, Json]:
    """Return the object that a JSON text holds.

    Raises
    ------
    FormatError
        If the text is too long, too deep, or no JSON object.
    """
    if len(text) > _MOST_BYTES:
        raise FormatError(
            f"{who}: must have at most {_MOST_BYTES} bytes, got {len(text)}."
        )
    try:
        data = json.loads(text)
    except RecursionError:
        raise FormatError(f"{who}: must not be nested that deep.") from None
    except ValueError as error:
        raise FormatError(f"{who}: must be JSON, got {error}.") from None
    if not isinstance(data, dict):
        raise FormatError(f"{who}: must be a JSON object, got {type(data).__name__}.")
    return data


def import_configuration(
    data: Mapping[str, Json], who: str
) -> tuple[Configuration, Counters]:
    """Return the configuration that an object of DL4J describes, and its counters.

    Parameters
    ----------
    data : mapping
        MultiLayerConfiguration or ComputationGraphConfiguration of DL4J.
    who : str
        The file, for messages.

    Raises
    ------
    FormatError
        If it is damaged, or holds what is not known here.
    """
    mapping, counters = read_configuration(modernized(data, who), who)
    if "layers" in mapping:
        mapping["input"] = input_type(mapping["layers"], who)
        parts = list(mapping["layers"])
    else:
        mapping["inputs"] = {
            name: input_type(list(_path(mapping, name)), f"{who}: {name}")
            for name in mapping["inputs"]
        }
        parts = list(mapping["vertices"].values())
        for name, part in mapping["vertices"].items():
            if part.get("name") == name:
                del part["name"]
    written = [part.pop("variables", None) for part in parts]
    try:
        conf = configuration_from_dict(mapping, who)
    except OptionError as error:
        raise FormatError(str(error)) from None
    return _as_written(conf, written), counters


def _path(mapping: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the layers and vertices that an input goes through, one reader of each."""
    vertices = mapping["vertices"]
    seen = set()
    while name not in seen:
        seen.add(name)
        readers = [key for key, item in vertices.items() if name in item["inputs"]]
        if not readers:
            return
        # A reader that is a layer tells more than a vertex.
        name = next(
            (key for key in readers if "variables" in vertices[key]), readers[0]
        )
        yield vertices[name]


def _as_written(conf: Configuration, variables: list[Any]) -> Configuration:
    """Keep what DL4J's file says otherwise than it would be said of the options."""
    nodes = {node.key: node for node in conf.nodes()}
    if isinstance(conf, MultiLayerConfiguration):
        layers = [
            _kept(layer, nodes[str(index)], listed)
            for index, (layer, listed) in enumerate(
                zip(conf.layers, variables, strict=True)
            )
        ]
        return conf.model_copy(update={"layers": tuple(layers)})
    vertices = {
        name: _kept(part, nodes[name], listed)
        for (name, part), listed in zip(conf.vertices.items(), variables, strict=True)
    }
    return conf.model_copy(update={"vertices": vertices})


def _kept(part: Any, node: Node, listed: list[Any] | None) -> Any:
    if isinstance(part, LayerConf):
        part = as_written(part, node.input_types[0])
    if listed is None or listed == variables_of(node):
        return part
    return part.model_copy(update={"dl4j": {**part.dl4j, "variables": listed}})
