"""Models in the zip files that DL4J's ``ModelSerializer`` writes.

What a file holds is believed only as far as its configuration agrees: arrays have as
many numbers as the layers say, and nothing that Java serialized is executed or read.

References
----------
DL4J, ``org.deeplearning4j.util.ModelSerializer`` of 1.0.0-M2.1.
"""

import errno
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.data.dl4j_normalizers import read_normalizer, write_normalizer
from daskdl.data.files import open_input, open_output
from daskdl.data.nd4j import read_array, write_array
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import DaskdlError, FormatError
from daskdl.evaluation.jackson import dumps
from daskdl.formats.dl4j.configuration import Counters
from daskdl.formats.dl4j.export_network import export_configuration
from daskdl.formats.dl4j.import_network import Configuration, import_configuration
from daskdl.formats.dl4j.json_text import parse_json
from daskdl.formats.dl4j.limited import limited
from daskdl.formats.dl4j.parameters import from_dl4j, parameters_of, to_dl4j
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.network import Network

CONFIGURATION = "configuration.json"
_COEFFICIENTS = "coefficients.bin"
_UPDATER_STATE = "updaterState.bin"
_NORMALIZER = "normalizer.bin"
_OLD_NORMALIZER = "preprocessor.bin"

_MOST_JSON = 64 << 20
# Headers of an array, and no more.
_HEADER_BYTES = 64 << 10
# The earliest time that a zip can hold: the clock must not change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)


def recognizes(stream: BinaryIO) -> bool:
    """Tell from its content whether an open file is such a model.

    Parameters
    ----------
    stream : binary stream, seekable
        Left anywhere.
    """
    try:
        with _damage_noticed("model"), zipfile.ZipFile(stream) as archive:
            return CONFIGURATION in archive.namelist()
    except FormatError:
        return False


def load(path_or_url: str) -> Network[Any]:
    """Read a model that DL4J 0.5 to 1.0.0-M2.1 wrote.

    Parameters
    ----------
    path_or_url : str or path
        Anything that fsspec opens.

    Returns
    -------
    MultiLayerNetwork or ComputationGraph
        With parameters, updater state, counters, and its normalizer, or None, as
        attribute `normalizer`. The numbers are of the type of the file's parameters;
        16 bits become float32.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    FormatError
        If the file is damaged, or holds what is not known here; with its path, the
        entry and the place in it.
    """
    who = str(path_or_url)
    with (
        open_input(path_or_url) as stream,
        _damage_noticed(who),
        zipfile.ZipFile(stream) as archive,
    ):
        return _read(archive, who)


def save(
    network: Network[Any],
    path_or_url: str,
    *,
    normalizer: Normalizer | None = None,
    save_updater: bool = True,
    overwrite: bool = False,
) -> None:
    """Write a model that DL4J 1.0.0-M2.1 reads, and goes on training.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Parameters, counters and configuration are written.
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens. The file
        appears under its name when it is complete.
    normalizer : Normalizer, optional
        What the features went through; by default the network's own.
    save_updater : bool
        Whether the updaters' state is written too.
    overwrite : bool
        Replace what is there.

    Raises
    ------
    OutputExistsError
        If something is there and `overwrite` is False.
    FormatError
        If DL4J has no word for something in the network.
    """
    text = dumps(export_configuration(network))
    normalizer = network.normalizer if normalizer is None else normalizer
    entries = {
        CONFIGURATION: text.encode(),
        _COEFFICIENTS: _array_bytes(to_dl4j(network, to_host(network.params))),
    }
    if save_updater and network.updater_state.size:
        state = to_host(network.updater_state)[state_order(network)]
        entries[_UPDATER_STATE] = _array_bytes(state)
    if normalizer is not None:
        stream = io.BytesIO()
        write_normalizer(stream, normalizer)
        entries[_NORMALIZER] = stream.getvalue()
    with (
        open_output(path_or_url, overwrite=overwrite) as output,
        zipfile.ZipFile(output, "w") as archive,
    ):
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def state_order(network: Network[Any]) -> NDArray[np.int64]:
    """Return where each number of DL4J's updater state lies in the network's.

    Returns
    -------
    ndarray of shape (n_state,), int64
        ``network.updater_state[order]`` is DL4J's.
    """
    names = [slot.name for slot, _ in parameters_of(network)]
    positions = np.arange(network.n_params, dtype=np.int64)
    return network.plan.state_order(names, to_dl4j(network, positions))


def _array_bytes(vector: FloatArray) -> bytes:
    stream = io.BytesIO()
    write_array(stream, vector)
    return stream.getvalue()


@contextmanager
def _damage_noticed(who: str) -> Iterator[None]:
    """Turn what reading damaged bytes raises into a FormatError."""
    try:
        yield
    except OSError as error:
        # A damaged offset makes an impossible seek; the rest is the store's matter.
        if error.errno != errno.EINVAL:
            raise
        raise FormatError(_damaged(who, error)) from error
    except _DAMAGE as error:
        if isinstance(error, DaskdlError):
            raise
        raise FormatError(_damaged(who, error)) from error


def _damaged(who: str, error: Exception) -> str:
    return f"{who}: must be a whole zip file, got a damaged or truncated one ({error})."


def _read(archive: zipfile.ZipFile, who: str) -> Network[Any]:
    names = set(archive.namelist())
    if CONFIGURATION not in names:
        raise FormatError(
            f"{who}: must hold {CONFIGURATION}, got {sorted(names)[:8]}. It is no "
            "model that DL4J wrote."
        )
    with archive.open(CONFIGURATION) as stream:
        text = limited(stream, _MOST_JSON, f"{who}: {CONFIGURATION}").read()
    place = f"{who}: {CONFIGURATION}"
    conf, counters = import_configuration(parse_json(text, place), place)
    vector = (
        _read_vector(archive, _COEFFICIENTS, conf, who)
        if _COEFFICIENTS in names
        else None
    )
    network = _network(conf, vector, counters, who)
    if _UPDATER_STATE in names:
        _read_state(archive, network, who)
    if _NORMALIZER in names:
        with archive.open(_NORMALIZER) as stream:
            entry = limited(stream, _MOST_JSON, f"{who}: {_NORMALIZER}")
            network.normalizer = read_normalizer(entry, name=f"{who}: {_NORMALIZER}")
    elif _OLD_NORMALIZER in names:
        warnings.warn(
            f"{who}: its normalizer ({_OLD_NORMALIZER}) is a Java object, which is not "
            "read. Give the normalizer anew.",
            stacklevel=2,
        )
    return network


def _network(
    conf: Configuration, vector: FloatArray | None, counters: Counters, who: str
) -> Network[Any]:
    # An empty vector is of 32 bits whatever the network computes with.
    if vector is not None and vector.size:
        dtype = "float64" if vector.dtype == np.float64 else "float32"
        vector = vector.astype(dtype, copy=False)
        conf = conf.model_copy(update={"dtype": dtype})
    network: Network[Any]
    if isinstance(conf, MultiLayerConfiguration):
        network = MultiLayerNetwork(conf)
    else:
        network = ComputationGraph(conf)
    if vector is None and network.n_params:
        raise FormatError(f"{who}: must hold {_COEFFICIENTS}, got none.")
    if vector is not None:
        place = f"{who}: {_COEFFICIENTS}"
        network.params[...] = from_dl4j(network, vector, who=place)
    network.iteration_count = counters.iteration
    network.epoch_count = counters.epoch
    return network


def _read_state(archive: zipfile.ZipFile, network: Network[Any], who: str) -> None:
    size = network.updater_state.size
    state = _read_numbers(archive, _UPDATER_STATE, size, who)
    if state.size != size:
        raise FormatError(
            f"{who}: {_UPDATER_STATE}: must hold {size} numbers, the state of the "
            f"updaters of its configuration, got {state.size}."
        )
    network.updater_state[state_order(network)] = state


def _read_vector(
    archive: zipfile.ZipFile, name: str, conf: Configuration, who: str
) -> FloatArray:
    size = sum(
        _n_numbers(item.shape) for node in conf.nodes() for item in node.parameters
    )
    return _read_numbers(archive, name, size, who)


def _n_numbers(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=object)) if shape else 1


def _read_numbers(
    archive: zipfile.ZipFile, name: str, size: int, who: str
) -> FloatArray:
    """Return a vector, without ever holding more than `size` numbers can need."""
    place = f"{who}: {name}"
    with archive.open(name) as stream:
        entry = limited(stream, 8 * size + _HEADER_BYTES, place)
        array = read_array(entry, name=place)
    if array.dtype.kind != "f":
        raise FormatError(
            f"{place}: must hold floating point numbers, got {array.dtype}."
        )
    vector: FloatArray = array.reshape(-1)
    return vector
