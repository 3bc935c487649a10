"""Configurations of DL4J as text, JSON or YAML, which are told apart by content."""

from typing import Any, Literal

from daskdl.dl4j.java.jackson import dumps
from daskdl.dl4j.network.differences import warn_of_differences
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.dl4j.network.import_network import Configuration, import_configuration
from daskdl.dl4j.network.json_objects import Json
from daskdl.dl4j.network.json_text import parse_json
from daskdl.dl4j.network.yaml_text import dump_dl4j_yaml, load_dl4j_yaml
from daskdl.nn.step import StepNetwork


def parse_text(text: str, who: str) -> dict[str, Json]:
    """Return the object that a JSON or YAML text of DL4J holds.

    Raises
    ------
    FormatError
        If it is neither.
    """
    if text.lstrip().startswith("{"):
        return parse_json(text, who)
    return load_dl4j_yaml(text, who)


def configuration_from_text(text: str, who: str = "configuration") -> Configuration:
    """Return the configuration that DL4J's ``toJson`` or ``toYaml`` wrote.

    Parameters
    ----------
    text : str
        JSON or YAML of a MultiLayerConfiguration or ComputationGraphConfiguration.
    who : str
        The file, for messages.

    Raises
    ------
    FormatError
        If the text is damaged, or describes what is not known here.
    """
    conf, _ = import_configuration(parse_text(text, who), who)
    return conf


def configuration_to_text(
    network: StepNetwork[Any], style: Literal["json", "yaml"] = "json"
) -> str:
    """Return text for DL4J's ``fromJson`` or ``fromYaml``.

    Parameters
    ----------
    network : Network
        Whose configuration and counters are written.
    style : {"json", "yaml"}
        Which of the two.

    Raises
    ------
    FormatError
        If DL4J has no word for something in the network.

    Warns
    -----
    DialectWarning
        As :func:`daskdl.dl4j.network.model_zip.save`.
    """
    warn_of_differences(network)
    data = export_configuration(network)
    return dumps(data) if style == "json" else dump_dl4j_yaml(data)
