"""A network in one file, exact enough to go on training bit for bit.

The file is in the safetensors format, which many programs read: one array for each
parameter, ``params.<name>``, the updater state as one vector, and a text beside them
that says what the network is. Nothing in it is executed when it is read. The same
network gives the same bytes. The guide describes it all under "Saved networks".
"""

import json
import zlib
from typing import Any, BinaryIO

from daskdl.arrays.host_vector import HostVector
from daskdl.arrays.namespace import to_host
from daskdl.data.files import open_input, write_output
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.errors import DaskdlError, FormatError, StorageError
from daskdl.formats.description import Description, describe
from daskdl.formats.tensor_file import (
    TensorFile,
    checksum,
    is_tensor_file,
    write_tensors,
)
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer
from daskdl.nn.updaters.table import state_parts

VERSION = 2

# The texts of a file: what the network is, and the checksum of that.
_NETWORK, _NETWORK_CRC = "daskdl", "daskdl_crc32"
_WHO = f"text {_NETWORK!r}"
_PARAM = "params."
_UPDATER_STATE = "updater_state"


def save(
    network: Network[Any],
    path_or_url: str,
    *,
    normalizer: NormalizerChoice = "own",
    overwrite: bool = False,
) -> None:
    """Write a network so that :func:`load` gives back exactly this one.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Parameters, updater state, counters and configuration are written.
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens. The file
        appears under its name when it is complete.
    normalizer : Normalizer, None or "own"
        What the file says that data go through; None for nothing.
    overwrite : bool
        Replace what is there.

    Raises
    ------
    OutputExistsError
        If something is there and `overwrite` is False.
    """
    kept = chosen_normalizer("save", network.normalizer, normalizer)
    views = network.layout.views(to_host(network.params))
    tensors = {f"{_PARAM}{name}": view for name, view in views.items()}
    tensors[_UPDATER_STATE] = to_host(network.updater_state)
    about = {
        **describe(network, VERSION),
        "params": list(views),
        "updater_state": _state_layout(network),
        "normalizer": None if kept is None else kept.to_dict(),
        "class_names": network.class_names,
        "crc32": {name: checksum(array) for name, array in tensors.items()},
    }
    text = json.dumps(about, allow_nan=False, separators=(",", ":"))
    texts = {_NETWORK: text, _NETWORK_CRC: _crc(text)}
    write_output(
        path_or_url,
        lambda out: write_tensors(out, tensors, texts),
        overwrite=overwrite,
    )


def load(path_or_url: str) -> Network[Any]:
    """Read a network that :func:`save` wrote.

    Parameters
    ----------
    path_or_url : str or path
        Anything that fsspec opens.

    Returns
    -------
    MultiLayerNetwork or ComputationGraph
        With the parameters, updater state and counters of the saved one, its
        normalizer, which it applies to all data, and the names of its classes.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    FormatError
        If the file is of another kind, a newer version, or damaged; with its path.
    """
    with open_input(path_or_url) as stream:
        try:
            return _read(TensorFile(stream))
        except StorageError:
            # The file is not to blame.
            raise
        except DaskdlError as error:
            raise FormatError(f"{path_or_url}: {error}") from error


def recognizes(stream: BinaryIO) -> bool:
    """Tell from its content whether an open file is such a network.

    Parameters
    ----------
    stream : binary stream, seekable
        Left anywhere.
    """
    return is_tensor_file(stream)


def _read(file: TensorFile) -> Network[Any]:
    values = _description(file)
    about = Description(values, _WHO, VERSION)
    about.check("params", list(about.shapes))
    wanted = {f"{_PARAM}{name}": shape for name, shape in about.shapes.items()}
    stored = {name: tensor.shape for name, tensor in file.tensors.items()}
    stored.pop(_UPDATER_STATE, None)
    _check_tensors("shapes of the parameters", stored, wanted)
    network = about.network()
    about.check("updater_state", _state_layout(network))
    params, state = map(HostVector, (network.params, network.updater_state))
    with params.lent(), state.lent():
        table = network.layout.views(params.host)
        views = {f"{_PARAM}{name}": view for name, view in table.items()}
        views[_UPDATER_STATE] = state.host
        _check_tensors(
            "shapes and types of all tensors",
            {name: (it.shape, it.dtype.name) for name, it in file.tensors.items()},
            {name: (view.shape, view.dtype.name) for name, view in views.items()},
        )
        crcs = {name: file.read_into(name, views[name]) for name in file.tensors}
    _check_tensors("checksums of the tensors", crcs, values.get("crc32"))
    if values.get("normalizer") is not None:
        normalizer = normalizer_from_dict(values["normalizer"])
        network.restore_normalizer(normalizer, read_from="load")
    network.class_names = _class_names(values.get("class_names"))
    return network


def _class_names(names: Any) -> list[str] | None:
    if names is not None and not isinstance(names, list):
        raise FormatError(
            f"{_WHO}: class_names must be a list of texts, got {names!r}."
        )
    return names


def _description(file: TensorFile) -> dict[str, Any]:
    text = file.texts.get(_NETWORK)
    if text is None:
        raise FormatError(
            f"the file must hold a network of daskdl (the text {_NETWORK!r} in its "
            f"header), got a safetensors file with the texts {sorted(file.texts)[:5]}."
        )
    if file.texts.get(_NETWORK_CRC) != _crc(text):
        raise FormatError(
            f"{_WHO}: must have the checksum {file.texts.get(_NETWORK_CRC)!r}, got "
            f"{_crc(text)!r}. The file is damaged."
        )
    try:
        values = json.loads(text)
    except RecursionError:
        raise FormatError(f"{_WHO}: must not be nested that deep.") from None
    except ValueError as error:
        raise FormatError(f"{_WHO}: must hold JSON, got {error}.") from error
    if not isinstance(values, dict):
        raise FormatError(f"{_WHO}: must hold a mapping, got {type(values).__name__}.")
    return values


def _check_tensors(what: str, came: dict[str, Any], wanted: Any) -> None:
    """Refuse the file over the first tensor that is not as expected."""
    if not isinstance(wanted, dict):
        raise FormatError(f"{_WHO}: must have {what}, got {wanted!r}.")
    for name in [*wanted, *came]:
        if came.get(name) != wanted.get(name):
            raise FormatError(
                f"tensor {name!r}: {what} must be {wanted.get(name)}, got "
                f"{came.get(name)}. The file is damaged, or not written as a whole."
            )


def _state_layout(network: Network[Any]) -> list[dict[str, Any]]:
    """Return which stretch of the updater state belongs to which parameters.

    Each part of a block is as long as its stretch of the flat vector of parameters.
    """
    return [
        {
            "updater": block.updater.type,
            "parts": list(state_parts(block.updater)),
            "params": [block.start, block.stop],
            "state": [block.state_start, block.state_stop],
        }
        for block in network.plan.blocks
    ]


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
