"""From the JSON of DL4J's configurations to configurations here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from daskdl.dialects import DL4J
from daskdl.dl4j.network.configuration import Counters, read_configuration
from daskdl.dl4j.network.data_formats import as_written
from daskdl.dl4j.network.inferred_sizes import inferred_sizes
from daskdl.dl4j.network.inputs import inner, input_type
from daskdl.dl4j.network.json_objects import Json
from daskdl.dl4j.network.legacy import modernized
from daskdl.dl4j.network.variables import variables_of
from daskdl.errors import FormatError
from daskdl.nn.conf.errors import PathError, got, shortened
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
    configuration_from_dict,
)
from daskdl.nn.conf.topology import Node

Configuration = MultiLayerConfiguration | ComputationGraphConfiguration


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
        parts = {str(index): layer for index, layer in enumerate(mapping["layers"])}
    else:
        parts = mapping["vertices"]
        mapping["inputs"] = _input_types(parts, mapping["inputs"], who)
        for name, part in parts.items():
            if part.get("name") == name:
                del part["name"]
    variables = {key: part.pop("variables", None) for key, part in parts.items()}
    try:
        conf = configuration_from_dict({**mapping, "dialect": DL4J}, who)
        return _as_written(conf, variables), counters
    except PathError as error:
        raise FormatError(f"{who}: {error}") from None
    except (OverflowError, ValueError) as error:
        # Sizes can multiply to numbers that Python refuses to write in a message.
        raise FormatError(str(error)) from None


def _input_types(
    vertices: Mapping[str, Mapping[str, Any]], names: Iterable[str], who: str
) -> dict[str, Any]:
    readers, sizes = _readers(vertices), inferred_sizes(vertices)
    types = {}
    for name in names:
        if name not in readers:
            raise FormatError(
                f"{who}: networkInputs: {got(name)} must be read by some vertex."
            )
        path = list(_path(vertices, readers, name))
        types[name] = input_type(path, f"{who}: {shortened(name)}")
        if types[name].get("size", 0) is None and not _is_of_any_size(path):
            types[name]["size"] = sizes.get(name)
    return types


def _is_of_any_size(path: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an embedding reads an input: a row has a number for each step."""
    return bool(inner(path[0])["type"] == "embedding_sequence")


def _readers(vertices: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the reader of each input and vertex: the first layer, or else vertex."""
    found: dict[str, str] = {}
    for name, vertex in vertices.items():
        for source in vertex["inputs"]:
            first = vertices.get(found.get(source, ""))
            # A reader that is a layer tells more than a vertex.
            if first is None or ("variables" in vertex and "variables" not in first):
                found[source] = name
    return found


def _path(
    vertices: Mapping[str, Mapping[str, Any]], readers: Mapping[str, str], name: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the layers and vertices that an input goes through, one reader of each."""
    seen = set()
    while name in readers and name not in seen:
        seen.add(name)
        name = readers[name]
        yield vertices[name]


def _as_written(conf: Configuration, variables: Mapping[str, Any]) -> Configuration:
    """Keep properties of DL4J's file that its options would not be written as."""
    nodes = {node.key: node for node in conf.nodes()}
    if isinstance(conf, MultiLayerConfiguration):
        layers = [
            _kept(layer, nodes[str(index)], variables[str(index)])
            for index, layer in enumerate(conf.layers)
        ]
        return conf.model_copy(update={"layers": tuple(layers)})
    vertices = {
        # In front of a layer that reads several there is a vertex more.
        name: _kept(part, nodes[name], variables.get(name))
        for name, part in conf.vertices.items()
    }
    return conf.model_copy(update={"vertices": vertices})


def _kept(part: Any, node: Node, listed: list[Any] | None) -> Any:
    if isinstance(part, LayerConf):
        part = as_written(part, node.input_types[0])
    if listed is None or listed == variables_of(node):
        return part
    return part.model_copy(update={"dl4j": {**part.dl4j, "variables": listed}})
