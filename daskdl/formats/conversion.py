"""Writing a network in another format, and what gets lost on the way."""

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from daskdl.checks import check_one_of
from daskdl.data.files import write_output
from daskdl.errors import OptionError
from daskdl.formats.dl4j.text import configuration_to_text
from daskdl.formats.onnx.model import export_onnx
from daskdl.nn.network import Network

__all__ = ["FORMATS", "convert", "format_of", "lost"]


@dataclass(frozen=True)
class Format:
    """A format that networks are written in.

    Parameters
    ----------
    endings : tuple of str
        Of the names of its files.
    has_params, has_training, has_normalizer : bool
        Whether it holds the parameters; updater state, counters, losses and all else
        that training needs; the normalizer and the names of classes.
    write : function of (network, path_or_url, overwrite)
        Writes a file.
    """

    endings: tuple[str, ...]
    has_params: bool
    has_training: bool
    has_normalizer: bool
    write: Callable[[Network[Any], str, bool], None]


def _native(name: str) -> Callable[[Network[Any], str, bool], None]:
    def write(network: Network[Any], path_or_url: str, overwrite: bool) -> None:
        network.save(path_or_url, format=name, overwrite=overwrite)

    return write


def _onnx(network: Network[Any], path_or_url: str, overwrite: bool) -> None:
    export_onnx(network, path_or_url, overwrite=overwrite)


def _text(style: Literal["json", "yaml"]) -> Callable[[Network[Any], str, bool], None]:
    def write(network: Network[Any], path_or_url: str, overwrite: bool) -> None:
        content = configuration_to_text(network, style).encode()
        write_output(path_or_url, lambda out: out.write(content), overwrite=overwrite)

    return write


FORMATS = {
    "daskdl": Format((".safetensors",), True, True, True, _native("daskdl")),
    "dl4j": Format((".zip",), True, True, True, _native("dl4j")),
    "onnx": Format((".onnx",), True, False, True, _onnx),
    "dl4j-json": Format((".json",), False, True, False, _text("json")),
    "dl4j-yaml": Format((".yaml", ".yml"), False, True, False, _text("yaml")),
}


def format_of(path_or_url: str) -> str:
    """Return the format that the ending of a name means.

    Raises
    ------
    OptionError
        If it means none.

    Examples
    --------
    >>> format_of("hdfs://nameservice/models/digits.onnx")
    'onnx'
    """
    ending = posixpath.splitext(path_or_url)[1].lower()
    for name, known in FORMATS.items():
        if ending in known.endings:
            return name
    endings = ", ".join(e for known in FORMATS.values() for e in known.endings)
    raise OptionError(
        f"convert: the output must end in one of {endings}, got {path_or_url!r}. "
        "Or name the format with --to."
    )


def lost(network: Network[Any], to: str, *, is_saved: bool = True) -> list[str]:
    """Return what a format does not hold of a network, in words.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        What is to be converted.
    to : str
        One of :data:`FORMATS`.
    is_saved : bool
        Whether its numbers were saved; those of a bare configuration are drawn, and
        nobody misses them.

    Raises
    ------
    OptionError
        If there is no such format.
    """
    check_one_of("convert", "to", to, FORMATS)
    known = FORMATS[to]
    found = []
    if not known.has_params and network.n_params and is_saved:
        found.append(f"parameters ({network.n_params:,} numbers)")
    state_is_kept = known.has_params and known.has_training
    if not state_is_kept and network.updater_state.size and is_saved:
        found.append(f"updater state ({network.updater_state.size:,} numbers)")
    if not known.has_training:
        found += _only_for_training(network)
    if not known.has_normalizer and network.normalizer is not None:
        found.append(f"normalizer ({type(network.normalizer).__name__})")
    if not known.has_normalizer and network.class_names is not None:
        found.append(f"names of classes ({', '.join(network.class_names)})")
    return found


def convert(
    network: Network[Any], path_or_url: str, to: str, *, overwrite: bool = False
) -> None:
    """Write a network in a format.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Not changed.
    path_or_url : str
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.
    to : str
        One of :data:`FORMATS`.
    overwrite : bool
        Replace what is there.

    Raises
    ------
    OptionError
        If there is no such format.
    FormatError
        If the format has no word for something in the network; nothing is written.
    OutputExistsError
        If something is there and `overwrite` is False.
    """
    check_one_of("convert", "to", to, FORMATS)
    FORMATS[to].write(network, path_or_url, overwrite)


def _only_for_training(network: Network[Any]) -> list[str]:
    found = ["losses and all other options of training"]
    if network.iteration_count or network.epoch_count:
        found.append(
            f"counters ({network.epoch_count:,} epochs, "
            f"{network.iteration_count:,} iterations)"
        )
    if network.dtype == "float64":
        found.append("digits beyond float32")
    return found
