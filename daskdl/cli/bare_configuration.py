"""Configurations of DL4J in files of their own, without numbers: JSON or YAML."""

import re
from typing import Any, BinaryIO

from daskdl.cli.network_facts import Configuration
from daskdl.data.files import open_input
from daskdl.dl4j.network.configuration import Counters
from daskdl.dl4j.network.import_network import import_configuration
from daskdl.dl4j.network.text import parse_text
from daskdl.errors import FormatError

__all__ = ["is_bare_configuration", "load_bare_configuration"]

ENDINGS = (".json", ".yaml", ".yml")
# Behind which DL4J describes the layers, or the options for all of them.
_KEY = re.compile(rb'(?:^|[{,]\s*)"?(?:confs|defaultConfiguration)"?\s*:', re.MULTILINE)
_HEAD_BYTES = 1 << 16
_MOST_BYTES = 64 << 20


def is_bare_configuration(
    path: str, storage_options: dict[str, Any] | None = None
) -> bool:
    """Tell from its ending and its beginning whether a file is such a configuration."""
    if not path.endswith(ENDINGS):
        return False
    with open_input(path, storage_options=storage_options) as stream:
        return _KEY.search(stream.read(_HEAD_BYTES)) is not None


def load_bare_configuration(path: str) -> tuple[Configuration, Counters]:
    """Read a configuration that DL4J's ``toJson`` or ``toYaml`` wrote.

    Returns
    -------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        What the network is.
    counters : Counters
        How far its training had come.

    Raises
    ------
    FormatError
        If it is damaged, or describes what is not known here; with its path.
    """
    with open_input(path) as stream:
        text = _text(stream, path)
    return import_configuration(parse_text(text, path), path)


def _text(stream: BinaryIO, path: str) -> str:
    content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise FormatError(f"{path}: must have at most {_MOST_BYTES} bytes, got more.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: must be text in UTF-8, got {error}.") from error
