"""A network in one file, exact enough to go on training bit for bit.

A checkpoint of a run is the same file with one text more, what the run needs beside the
network, and perhaps some arrays, ``run.<rank>.<name>``: it is read as a network, too,
unless that is amid pretraining.

The file is in the safetensors format, which many programs read: one array for each
parameter, ``params.<name>``, the updater state as one vector, and a text beside them
that says what the network is. Nothing in it is executed when it is read. The same
network gives the same bytes. The guide describes it all under "Saved networks".
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from daskdl.arrays.host_vector import HostVector
from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.checks import some
from daskdl.data.files import open_input, write_output
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.normalizers.normalizer import Normalizer
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
_RUN, _RUN_CRC = "daskdl_run", "daskdl_run_crc32"
# The layers that the run pretrains.
_PRETRAINING = "daskdl_pretraining"
_PARAM = "params."
_UPDATER_STATE = "updater_state"
_OF_RUN = "run."


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
    tensors, texts = _contents(network, kept)
    _write(path_or_url, tensors, texts, overwrite=overwrite)


def save_run(
    network: Network[Any],
    path_or_url: str,
    run: Mapping[str, Any],
    arrays: Sequence[Mapping[str, FloatArray]] = (),
    *,
    layers: Sequence[str] = (),
) -> None:
    """Write a network and what a run needs beside it, in place of what is there.

    Parameters
    ----------
    network, path_or_url
        As for :func:`save`.
    run : mapping
        Plain values; numbers may be infinite or NaN.
    arrays : sequence of mappings of str to ndarray of any shape, float32 or float64
        Of each worker by rank.
    layers : sequence of str
        Names of those that the run pretrains: :func:`load` refuses the file then.
    """
    tensors, texts = _contents(network, network.normalizer)
    of_run = {
        f"{_OF_RUN}{rank}.{name}": to_host(array)
        for rank, named in enumerate(arrays)
        for name, array in named.items()
    }
    crcs = {name: checksum(array) for name, array in of_run.items()}
    # Only Python reads it, so that what JSON lacks may stand in it.
    text = json.dumps({"run": run, "crc32": crcs}, separators=(",", ":"))
    texts |= {_RUN: text, _RUN_CRC: _crc(text)}
    if layers:
        texts[_PRETRAINING] = some(layers)
    _write(path_or_url, {**tensors, **of_run}, texts, overwrite=True)


def load_run(
    path_or_url: str,
) -> tuple[Network[Any], dict[str, Any], tuple[dict[str, FloatArray], ...]]:
    """Read what :func:`save_run` wrote.

    Returns
    -------
    network : MultiLayerNetwork or ComputationGraph
        As :func:`load` returns it.
    run : dict
    arrays : tuple of dict of str to ndarray of any shape
        Of each worker by rank.

    Raises
    ------
    SourceNotFoundError, FormatError
        As :func:`load`; also if it is a network without a run.
    """
    with open_input(path_or_url) as stream:
        try:
            file = TensorFile(stream)
            network = _read(file)
            run = _texts_of_run(file)
            arrays = _arrays_of_run(file, run["crc32"])
        except StorageError:
            raise
        except DaskdlError as error:
            raise FormatError(f"{path_or_url}: {error}") from error
    return network, run["run"], arrays


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
        If the file is of another kind, a newer version, damaged, or a checkpoint of
        pretraining; with its path.
    """
    with open_input(path_or_url) as stream:
        try:
            file = TensorFile(stream)
            _refuse_pretraining(file)
            return _read(file)
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
    stored = {name: it for name, it in stored.items() if not _is_of_run(name)}
    _check_tensors("shapes of the parameters", stored, wanted)
    network = about.network()
    about.check("updater_state", _state_layout(network))
    params, state = map(HostVector, (network.params, network.updater_state))
    with params.lent(), state.lent():
        table = network.layout.views(params.host)
        views = {f"{_PARAM}{name}": view for name, view in table.items()}
        views[_UPDATER_STATE] = state.host
        own = {name: it for name, it in file.tensors.items() if not _is_of_run(name)}
        _check_tensors(
            "shapes and types of all tensors",
            {name: (it.shape, it.dtype.name) for name, it in own.items()},
            {name: (view.shape, view.dtype.name) for name, view in views.items()},
        )
        crcs = {name: file.read_into(name, views[name]) for name in own}
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


def _contents(
    network: Network[Any], normalizer: Normalizer | None
) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Return the tensors and the texts of a network."""
    views = network.layout.views(to_host(network.params))
    tensors = {f"{_PARAM}{name}": view for name, view in views.items()}
    tensors[_UPDATER_STATE] = to_host(network.updater_state)
    about = {
        **describe(network, VERSION),
        "params": list(views),
        "updater_state": _state_layout(network),
        "normalizer": None if normalizer is None else normalizer.to_dict(),
        "class_names": network.class_names,
        "crc32": {name: checksum(array) for name, array in tensors.items()},
    }
    text = json.dumps(about, allow_nan=False, separators=(",", ":"))
    return tensors, {_NETWORK: text, _NETWORK_CRC: _crc(text)}


def _write(
    path_or_url: str,
    tensors: Mapping[str, FloatArray],
    texts: Mapping[str, str],
    *,
    overwrite: bool,
) -> None:
    write_output(
        path_or_url,
        lambda out: write_tensors(out, tensors, texts),
        overwrite=overwrite,
    )


def _refuse_pretraining(file: TensorFile) -> None:
    if _PRETRAINING in file.texts:
        raise FormatError(
            "the file must hold a network that is pretrained, got a checkpoint of the "
            f"pretraining of {file.texts[_PRETRAINING]}. Go on with it by "
            "pretrain(..., resume=...) or daskdl run --resume."
        )


def _description(file: TensorFile) -> dict[str, Any]:
    if _NETWORK not in file.texts:
        raise FormatError(
            f"the file must hold a network of daskdl (the text {_NETWORK!r} in its "
            f"header), got a safetensors file with the texts {sorted(file.texts)[:5]}."
        )
    return _values(file, _NETWORK, _NETWORK_CRC)


def _texts_of_run(file: TensorFile) -> dict[str, Any]:
    if _RUN not in file.texts:
        raise FormatError(
            f"the file must hold a checkpoint of a run (the text {_RUN!r} in its "
            "header), got a network alone. Give it as the network to train."
        )
    values = _values(file, _RUN, _RUN_CRC)
    if not isinstance(values.get("run"), dict) or not isinstance(
        values.get("crc32"), dict
    ):
        raise FormatError(f"text {_RUN!r}: must hold a run and checksums, got neither.")
    return values


def _arrays_of_run(
    file: TensorFile, crcs: dict[str, Any]
) -> tuple[dict[str, FloatArray], ...]:
    found: dict[int, dict[str, FloatArray]] = {}
    came = {}
    for name in filter(_is_of_run, file.tensors):
        tensor = file.tensors[name]
        rank, _, own_name = name.removeprefix(_OF_RUN).partition(".")
        if not rank.isdecimal():
            raise FormatError(f"tensor {name!r}: must be of a rank, got {rank!r}.")
        array = np.empty(tensor.shape, tensor.dtype.newbyteorder("="))
        came[name] = file.read_into(name, array)
        found.setdefault(int(rank), {})[own_name] = array
    _check_tensors("checksums of the tensors", came, crcs)
    return tuple(found.get(rank, {}) for rank in range(max(found, default=-1) + 1))


def _is_of_run(name: str) -> bool:
    return name.startswith(_OF_RUN)


def _values(file: TensorFile, name: str, crc_name: str) -> dict[str, Any]:
    """Return the values of a text, which its checksum vouches for."""
    who, text = f"text {name!r}", file.texts[name]
    if file.texts.get(crc_name) != _crc(text):
        raise FormatError(
            f"{who}: must have the checksum {file.texts.get(crc_name)!r}, got "
            f"{_crc(text)!r}. The file is damaged."
        )
    try:
        values = json.loads(text)
    except RecursionError:
        raise FormatError(f"{who}: must not be nested that deep.") from None
    except ValueError as error:
        raise FormatError(f"{who}: must hold JSON, got {error}.") from error
    if not isinstance(values, dict):
        raise FormatError(f"{who}: must hold a mapping, got {type(values).__name__}.")
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
