"""Reading the networks that daskdl saved first: zip files, version 1.

Such a file holds ``network.json`` (what the network is, its counters and layout),
``params.npy``, ``updater_state.npy``, and ``normalizer.json`` if there is one. Nothing
writes it any more.
"""

import io
import json
from typing import Any, BinaryIO

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.zip_files import ZipEntries
from daskdl.errors import FormatError
from daskdl.formats.description import Description
from daskdl.nn.network import Network

__all__ = ["is_zip_checkpoint", "read_zip_checkpoint"]

_NETWORK = "network.json"
_PARAMS = "params.npy"
_UPDATER_STATE = "updater_state.npy"
_NORMALIZER = "normalizer.json"
_VERSION = 1
# What the JSON may take beyond the bytes of the file; arrays are not compressed.
_MOST_JSON_BYTES = 64 << 20


def is_zip_checkpoint(stream: BinaryIO) -> bool:
    """Tell from its list of entries whether an open zip file is such a network."""
    try:
        return _NETWORK in _entries(stream).names
    except FormatError:
        return False


def read_zip_checkpoint(stream: BinaryIO) -> Network[Any]:
    """Return the network in an open zip file.

    Parameters
    ----------
    stream : binary stream, seekable
        Stays open.

    Raises
    ------
    DaskdlError
        If the file is damaged, or does not fit together.
    """
    archive = _entries(stream)
    about = Description(_json(archive, _NETWORK), _NETWORK, _VERSION)
    about.check("layout", [[name, list(shape)] for name, shape in about.shapes.items()])
    params = _array(archive, _PARAMS, about.n_params, about.dtype)
    network = about.network()
    network.params[...] = to_device(params, network.params)
    state = network.updater_state
    values = _array(archive, _UPDATER_STATE, state.size, about.dtype)
    state[...] = to_device(values, state)
    if _NORMALIZER in archive.names:
        network.normalizer = normalizer_from_dict(_json(archive, _NORMALIZER))
    return network


def _entries(stream: BinaryIO) -> ZipEntries:
    size = stream.seek(0, 2)
    return ZipEntries(
        stream, "zip file", most_bytes=size + _MOST_JSON_BYTES, most_entries=16
    )


def _json(archive: ZipEntries, name: str) -> dict[str, Any]:
    try:
        value = json.loads(archive.read(name))
    except RecursionError:
        raise FormatError(f"{name}: must not be nested that deep.") from None
    except ValueError as error:
        # What read() refuses is a ValueError too, and says all there is to say.
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{name}: must be JSON, got {error}.") from error
    if not isinstance(value, dict):
        raise FormatError(f"{name}: must be a mapping, got {type(value).__name__}.")
    return value


def _array(
    archive: ZipEntries, name: str, size: int, dtype: np.dtype[Any]
) -> FloatArray:
    """Return the numbers of an entry, whose header must promise the wanted vector."""
    stream = io.BytesIO(archive.read(name))
    try:
        np.lib.format.read_magic(stream)
        shape, _, came = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise FormatError(f"{name}: must be an array, got {error}.") from error
    content = stream.read()
    if (shape, came) != ((size,), dtype) or len(content) != size * dtype.itemsize:
        raise FormatError(
            f"{name}: must hold {size} numbers of {dtype}, got the shape {shape} of "
            f"{came} in {len(content)} bytes."
        )
    numbers: FloatArray = np.frombuffer(content, dtype)
    return numbers
