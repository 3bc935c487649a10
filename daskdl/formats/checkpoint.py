"""A network in one file, exact enough to go on training bit for bit.

The file is a zip of plain things: ``network.json`` (what the network is, its counters
and layout), ``params.npy``, ``updater_state.npy``, and ``normalizer.json`` if there is
one. Nothing in it is executed when it is read. The same network gives the same bytes.
"""

import errno
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.data.files import open_input, open_output
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import DaskdlError, FormatError
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.network import Network

FORMAT = "daskdl network"
VERSION = 1

_NETWORK = "network.json"
_PARAMS = "params.npy"
_UPDATER_STATE = "updater_state.npy"
_NORMALIZER = "normalizer.json"
# The earliest time that a zip can hold: the clock must not change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)

_MUST_BE_WHOLE = "must be a whole network file, got a damaged or truncated one"
# What zip, zlib, JSON and NumPy raise on bytes that are not theirs.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)

_KINDS: dict[str, Callable[[Any, FloatArray, FloatArray], Network[Any]]] = {
    "MultiLayerNetwork": lambda conf, params, state: MultiLayerNetwork(
        MultiLayerConfiguration.from_dict(conf), params, updater_state=state
    ),
    "ComputationGraph": lambda conf, params, state: ComputationGraph(
        ComputationGraphConfiguration.from_dict(conf), params, updater_state=state
    ),
}


def save(
    network: Network[Any],
    path_or_url: str,
    *,
    normalizer: Normalizer | None = None,
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
    normalizer : Normalizer, optional
        What the features went through; by default the network's own.
    overwrite : bool
        Replace what is there.

    Raises
    ------
    OutputExistsError
        If something is there and `overwrite` is False.
    """
    normalizer = network.normalizer if normalizer is None else normalizer
    with (
        open_output(path_or_url, overwrite=overwrite) as stream,
        zipfile.ZipFile(stream, "w") as archive,
    ):
        _write_json(archive, _NETWORK, _description(network))
        _write_array(archive, _PARAMS, network.params)
        _write_array(archive, _UPDATER_STATE, network.updater_state)
        if normalizer is not None:
            _write_json(archive, _NORMALIZER, normalizer.to_dict())


def load(path_or_url: str) -> Network[Any]:
    """Read a network that :func:`save` wrote.

    Parameters
    ----------
    path_or_url : str or path
        Anything that fsspec opens.

    Returns
    -------
    MultiLayerNetwork or ComputationGraph
        With the parameters, updater state and counters of the saved one, and its
        normalizer, or None, as attribute `normalizer`.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    FormatError
        If the file is of another kind, a newer version, or damaged; with its path.
    """
    with open_input(path_or_url) as stream:
        try:
            with _damage_noticed(), zipfile.ZipFile(stream) as archive:
                return _read(archive)
        except DaskdlError as error:
            raise FormatError(f"{path_or_url}: {error}") from error


def recognizes(stream: BinaryIO) -> bool:
    """Tell from its content whether an open file is such a network.

    Parameters
    ----------
    stream : binary stream, seekable
        Left anywhere.
    """
    try:
        with _damage_noticed(), zipfile.ZipFile(stream) as archive:
            return _NETWORK in archive.namelist()
    except FormatError:
        return False


@contextmanager
def _damage_noticed() -> Iterator[None]:
    """Turn what reading damaged bytes raises into a FormatError."""
    try:
        yield
    except OSError as error:
        # A damaged offset makes an impossible seek; the rest is the store's matter.
        if error.errno != errno.EINVAL:
            raise
        raise FormatError(f"{_MUST_BE_WHOLE} ({error}).") from error
    except _DAMAGE as error:
        if isinstance(error, DaskdlError):
            raise
        raise FormatError(f"{_MUST_BE_WHOLE} ({error}).") from error


def _description(network: Network[Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(network).__name__,
        "iteration_count": network.iteration_count,
        "epoch_count": network.epoch_count,
        # As text: JSON has no NaN, which is the score before the first minibatch.
        "score": repr(float(network.score)),
        "layout": _layout(network),
        "configuration": network.conf.to_dict(),
    }


def _layout(network: Network[Any]) -> list[list[Any]]:
    return [[slot.name, list(slot.shape)] for slot in network.layout]


def _read(archive: zipfile.ZipFile) -> Network[Any]:
    about = _read_json(archive, _NETWORK)
    if about.get("format") != FORMAT or about.get("kind") not in _KINDS:
        raise FormatError(
            f"{_NETWORK} must describe a {' or '.join(_KINDS)}, got format "
            f"{about.get('format')!r} and kind {about.get('kind')!r}."
        )
    if about["version"] > VERSION:
        raise FormatError(
            f"the version of the file must be at most {VERSION}, got "
            f"{about['version']}. Update daskdl."
        )
    network = _KINDS[about["kind"]](
        about["configuration"],
        _read_array(archive, _PARAMS),
        _read_array(archive, _UPDATER_STATE),
    )
    if about["layout"] != _layout(network):
        raise FormatError(
            "the layout of the parameters must be that of the configuration, "
            f"{_layout(network)}, got {about['layout']}."
        )
    network.iteration_count = about["iteration_count"]
    network.epoch_count = about["epoch_count"]
    network.score = float(about["score"])
    if _NORMALIZER in archive.namelist():
        values = _read_json(archive, _NORMALIZER)
        network.normalizer = normalizer_from_dict(values)
    return network


def _write_json(archive: zipfile.ZipFile, name: str, value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1, allow_nan=False)
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, text)


def _write_array(archive: zipfile.ZipFile, name: str, array: FloatArray) -> None:
    # Not compressed: trained numbers look random.
    entry = zipfile.ZipInfo(name, _NO_TIME)
    with archive.open(entry, "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, to_host(array), allow_pickle=False)


def _read_json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    value = json.loads(archive.read(name))
    if not isinstance(value, dict):
        raise FormatError(f"{name} must be a mapping, got {type(value).__name__}.")
    return value


def _read_array(archive: zipfile.ZipFile, name: str) -> FloatArray:
    # Reading to the end is what checks the entry's checksum.
    stream = io.BytesIO(archive.read(name))
    array: FloatArray = np.lib.format.read_array(stream, allow_pickle=False)
    return array
