"""Writing a network in another format, and the parts that get lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from daskdl.checks import check_one_of
from daskdl.data.files import write_output
from daskdl.dialects import DL4J
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.text import configuration_to_text
from daskdl.errors import OptionError
from daskdl.formats import checkpoint
from daskdl.formats.onnx.model import export_onnx
from daskdl.nn.dialect_differences import differences
from daskdl.nn.file_formats import ENDINGS, format_of_ending, settled_format
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice

__all__ = [
    "FORMATS",
    "check_dialect",
    "convert",
    "format_of",
    "lost_parts",
    "quirks_of_readers",
]


@dataclass(frozen=True)
class Format:
    """A format that networks are written in.

    Parameters
    ----------
    has_params, has_training, has_normalizer : bool
        Whether it holds the parameters; updater state, counters, losses and all else
        that training needs; the normalizer and the names of classes.
    save : function of (network, path_or_url, *, normalizer, overwrite)
        Writes a file.
    dialect : str, optional
        In which its readers compute; None is that of the network.
    """

    has_params: bool
    has_training: bool
    has_normalizer: bool
    save: Callable[..., None]
    dialect: str | None = None


def _text(style: Literal["json", "yaml"]) -> Callable[..., None]:
    def save(
        network: Network[Any],
        path_or_url: str,
        *,
        normalizer: NormalizerChoice = "own",
        overwrite: bool = False,
    ) -> None:
        # A configuration has no place for a normalizer.
        content = configuration_to_text(network, style).encode()
        write_output(path_or_url, lambda out: out.write(content), overwrite=overwrite)

    return save


# By these names Network.save finds what is no module of its own.
ONNX = Format(True, False, True, export_onnx)
DL4J_JSON = Format(False, True, False, _text("json"), DL4J)
DL4J_YAML = Format(False, True, False, _text("yaml"), DL4J)
FORMATS = {
    "daskdl": Format(True, True, True, checkpoint.save),
    "dl4j": Format(True, True, True, model_zip.save, DL4J),
    "onnx": ONNX,
    "dl4j-json": DL4J_JSON,
    "dl4j-yaml": DL4J_YAML,
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
    meant = format_of_ending(path_or_url)
    if meant is not None:
        return meant
    endings = ", ".join(ending for own in ENDINGS.values() for ending in own)
    raise OptionError(
        f"convert: the output must end in one of {endings}, got {path_or_url!r}. "
        "Or name the format with --to."
    )


def lost_parts(network: Network[Any], to: str, *, is_saved: bool = True) -> list[str]:
    """Return the parts of a network that a format does not hold, in words.

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


def quirks_of_readers(network: Network[Any], to: str) -> list[str]:
    """Return the quirks by which readers of a format differ from a network, in words.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        What is to be converted.
    to : str
        One of :data:`FORMATS`.
    """
    readers = FORMATS[to].dialect or network.conf.dialect
    return [str(quirk) for quirk in differences(network.conf, readers)]


def check_dialect(who: str, name: str, to: str) -> None:
    """Refuse a dialect that whoever reads a format does not compute in.

    Raises
    ------
    OptionError
        If the readers have another.
    """
    readers = FORMATS[to].dialect
    if readers not in (None, name):
        raise OptionError(
            f"{who}: must be {readers} to write {to}, which has no word for another, "
            f"got {name}. Write a file of daskdl (.safetensors)."
        )


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
        If there is no such format, or the ending is that of another.
    FormatError
        If the format has no word for something in the network; nothing is written.
    OutputExistsError
        If something is there and `overwrite` is False.
    """
    check_one_of("convert", "to", to, FORMATS)
    settled_format("convert: to", path_or_url, to)
    FORMATS[to].save(network, path_or_url, overwrite=overwrite)


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
