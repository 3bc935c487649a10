"""The check that a network written for DL4J reads back as the same network.

DL4J's files do not say what goes into a network: some networks cannot be told apart by
their layers, and such a file would be read as another network.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from daskdl.dl4j.network.import_network import Configuration, import_configuration
from daskdl.dl4j.network.json_objects import Json
from daskdl.errors import DaskdlError, FormatError
from daskdl.nn.conf.input_type import (
    ConvolutionalFlat,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.step import StepNetwork

_ADVICE = "Save the network in daskdl's own format."


def check_round_trip(written: Mapping[str, Json], network: StepNetwork[Any]) -> None:
    """Refuse a configuration that would be read as another one.

    Parameters
    ----------
    written : mapping
        The JSON object of DL4J that describes the network.
    network : Network
        What it must describe.

    Raises
    ------
    FormatError
        If it cannot be read, or inputs, outputs or numbers of parameters differ.
    """
    try:
        conf, _ = import_configuration(written, "DL4J")
        nodes = {node.key: node for node in conf.nodes()}
    except DaskdlError as error:
        given = ", ".join(map(repr, _inputs(network.conf).values()))
        raise FormatError(
            "DL4J: its file must tell what goes into a network by its layers, got "
            f"{given} and layers that do not tell that: the file "
            f"could not be read again ({error}). {_ADVICE}"
        ) from error
    read = _inputs(conf)
    for name, came in _inputs(network.conf).items():
        _check(f"the input {name!r}".replace(" ''", ""), came, read[name])
    outputs = _outputs(network.conf, network.nodes)
    for node in network.nodes:
        if node.key not in nodes:
            raise FormatError(
                f"DL4J: its file must tell of {node.name!r}, it has no word for it. "
                f"{_ADVICE}"
            )
        _check_node(node, nodes[node.key], is_output=node.name in outputs)


def _inputs(conf: Configuration) -> Mapping[str, InputType]:
    if isinstance(conf, MultiLayerConfiguration):
        return {"": conf.input}
    return dict(conf.inputs)


def _outputs(conf: Configuration, nodes: Iterable[Node]) -> set[str]:
    if isinstance(conf, MultiLayerConfiguration):
        return {[node.name for node in nodes][-1]}
    return set(conf.outputs)


def _check_node(node: Node, read: Node, *, is_output: bool) -> None:
    given, found = node.output_type, read.output_type
    # Between layers the steps of series can be rows.
    is_rows = isinstance(given, Recurrent) and isinstance(found, FeedForward)
    if is_output or not is_rows:
        _check(f"what comes out of {node.name!r}", given, found)
    sizes = [{item.name: item.shape for item in one.parameters} for one in (node, read)]
    if sizes[0] != sizes[1]:
        raise FormatError(
            f"DL4J: its file must tell the parameters of {node.name!r}, {sizes[0]}, "
            f"got one that would be read with {sizes[1]}. {_ADVICE}"
        )


def _check(what: str, given: InputType, found: InputType) -> None:
    """Refuse a type that differs from another in a size that both know."""
    if isinstance(given, ConvolutionalFlat) and isinstance(found, FeedForward):
        given = FeedForward(size=given.n_features)
    ours, theirs = given.model_dump(), found.model_dump()
    for name, value in ours.items():
        other = theirs.get(name)
        if value != other and (name not in theirs or None not in (value, other)):
            raise FormatError(
                f"DL4J: must be able to tell the {name} {value!r} of {what}, for which "
                f"its file has no word here: it would be read as {other!r}, got "
                f"{given!r}. {_advice(given, found)}"
            )


def _advice(given: InputType, found: InputType) -> str:
    if isinstance(given, Recurrent) and given.size == 1 and found.type != given.type:
        # Numbers, one a step, which only embeddings take.
        return (
            f"Give the input as FeedForward(size={given.time_steps}), rows of numbers, "
            "which DL4J can tell. Or save the network in daskdl's own format."
        )
    return _ADVICE
