"""Models in the zip files that DL4J's ``ModelSerializer`` writes.

What a file holds is believed only as far as its configuration agrees: arrays have as
many numbers as the layers say, and nothing that Java serialized is executed or read.

References
----------
DL4J, ``org.deeplearning4j.util.ModelSerializer`` of 1.0.0-M2.1.
"""

import io
import json
import math
import sys
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.host_vector import HostVector
from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.checks import some
from daskdl.data.files import open_input, write_output
from daskdl.dialects import DL4J
from daskdl.dl4j.arrays.nd4j import read_array, write_array
from daskdl.dl4j.java.jackson import dumps
from daskdl.dl4j.network.bounded_stream import bounded
from daskdl.dl4j.network.configuration import Counters
from daskdl.dl4j.network.differences import warn_of_differences
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.dl4j.network.import_network import Configuration, import_configuration
from daskdl.dl4j.network.json_text import parse_json
from daskdl.dl4j.network.parameters import from_dl4j, parameters_of, to_dl4j
from daskdl.dl4j.network.round_trip_check import check_round_trip
from daskdl.dl4j.network.size_limits import MOST_BYTES
from daskdl.dl4j.normalizers import read_normalizer, write_normalizer
from daskdl.dl4j.zip_files import ZipEntries
from daskdl.errors import FormatError, OptionError
from daskdl.nn.build import build_network
from daskdl.nn.conf.errors import got
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer

CONFIGURATION = "configuration.json"
_COEFFICIENTS = "coefficients.bin"
_UPDATER_STATE = "updaterState.bin"
_NORMALIZER = "normalizer.bin"
_OLD_NORMALIZER = "preprocessor.bin"
# DL4J has no place for them, and leaves entries alone that it does not know.
_CLASS_NAMES = "daskdl_class_names.json"

# Statistics of a million columns, and of as many labels.
_MOST_NORMALIZER = 64 << 20
# Numbers of a byte: trained ones hardly get smaller when they are compressed, zeros a
# thousand times. A network takes four to five times its parameters.
_MOST_INFLATION = 8
# Numbers that need no look.
_FEW = 4 << 20
# Headers of an array, and no more.
_HEADER_BYTES = 64 << 10
# The earliest time that a zip can hold: the clock must not change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def recognizes(stream: BinaryIO) -> bool:
    """Tell from its content whether an open file is such a model.

    Parameters
    ----------
    stream : binary stream, seekable
        Left anywhere.
    """
    try:
        return CONFIGURATION in _entries(stream, "model").names
    except FormatError:
        return False


def load(path_or_url: str, *, most_inflation: float = _MOST_INFLATION) -> Network[Any]:
    """Read a model that DL4J 0.5 to 1.0.0-M2.1 wrote.

    Parameters
    ----------
    path_or_url : str or path
        Anything that fsspec opens.
    most_inflation : float
        How many parameters a byte of the file may stand for, if there are more than
        some millions: a small file of zeros can be a network that fills the memory.

    Returns
    -------
    MultiLayerNetwork or ComputationGraph
        With parameters, updater state, counters, and its normalizer, which it applies
        to all data: give it those that DL4J's normalizer was given. The numbers are of
        the type of the file's parameters; 16 bits become float32.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    FormatError
        If the file is damaged, or holds what is not known here; with its path, the
        entry and the place in it.
    """
    who = str(path_or_url)
    with open_input(path_or_url) as stream:
        return _read(_entries(stream, who), who, most_inflation)


def save(
    network: Network[Any],
    path_or_url: str,
    *,
    normalizer: NormalizerChoice = "own",
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
    normalizer : Normalizer, None or "own"
        What the file says that data go through; None for nothing.
    save_updater : bool
        Whether the updaters' state is written too.
    overwrite : bool
        Replace what is there.

    Raises
    ------
    OutputExistsError
        If something is there and `overwrite` is False.
    FormatError
        If DL4J has no word for something in the network, or its file would be read
        as another one.

    Warns
    -----
    DialectWarning
        If DL4J will compute something otherwise than the network does here, with the
        list.
    """
    warn_of_differences(network)
    configuration = export_configuration(network)
    check_round_trip(configuration, network)
    text = dumps(configuration)
    kept = chosen_normalizer("save", network.normalizer, normalizer)
    entries = {
        CONFIGURATION: text.encode(),
        _COEFFICIENTS: _array_bytes(to_dl4j(network, to_host(network.params))),
    }
    # What DL4J has a place for: other dialects deal updaters otherwise.
    is_dealt = not save_updater or network.conf.dialect == DL4J
    dealt = network if is_dealt else network.with_dialect(DL4J)[0]
    if save_updater and dealt.updater_state.size:
        state = to_host(dealt.updater_state)[state_order(dealt)]
        entries[_UPDATER_STATE] = _array_bytes(state)
    if kept is not None:
        stream = io.BytesIO()
        write_normalizer(stream, kept)
        entries[_NORMALIZER] = stream.getvalue()
    if network.class_names is not None:
        names = json.dumps({"class_names": network.class_names})
        entries[_CLASS_NAMES] = names.encode()
    write_output(
        path_or_url, lambda out: _write_entries(out, entries), overwrite=overwrite
    )


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


def _write_entries(stream: BinaryIO, entries: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def _array_bytes(vector: FloatArray) -> bytes:
    stream = io.BytesIO()
    write_array(stream, vector)
    return stream.getvalue()


def _entries(stream: BinaryIO, who: str) -> ZipEntries:
    # What an entry may take is known when it is read.
    return ZipEntries(stream, who, most_bytes=sys.maxsize)


def _read(archive: ZipEntries, who: str, most_inflation: float) -> Network[Any]:
    names = set(archive.names)
    if CONFIGURATION not in names:
        raise FormatError(
            f"{who}: must hold {CONFIGURATION}, got {some(archive.names)}. It is no "
            "model that DL4J wrote."
        )
    place = f"{who}: {CONFIGURATION}"
    with archive.open(CONFIGURATION) as stream:
        text = bounded(stream, MOST_BYTES, place).read()
    conf, counters = import_configuration(parse_json(text, place), place)
    vector = _read_vector(archive, conf, who, most_inflation)
    network = _network(conf, vector, counters, who)
    if _UPDATER_STATE in names:
        _read_state(archive, network, who)
    if _NORMALIZER in names:
        with archive.open(_NORMALIZER) as stream:
            entry = bounded(stream, _MOST_NORMALIZER, f"{who}: {_NORMALIZER}")
            read = read_normalizer(entry, name=f"{who}: {_NORMALIZER}")
            network.restore_normalizer(read, read_from=who)
            entry.read()
    elif _OLD_NORMALIZER in names:
        warnings.warn(
            f"{who}: its normalizer ({_OLD_NORMALIZER}) is a Java object, which is not "
            "read. Give the normalizer anew.",
            stacklevel=2,
        )
    if _CLASS_NAMES in names:
        _read_class_names(archive, network, who)
    return network


def _read_class_names(archive: ZipEntries, network: Network[Any], who: str) -> None:
    place = f"{who}: {_CLASS_NAMES}"
    with archive.open(_CLASS_NAMES) as stream:
        text = bounded(stream, MOST_BYTES, place).read()
    names = parse_json(text, place).get("class_names")
    if names is not None and not isinstance(names, list):
        raise FormatError(f"{place}: class_names must be a list, got {got(names)}.")
    try:
        network.class_names = names
    except OptionError as error:
        raise FormatError(f"{place}: {error}") from None


def _network(
    conf: Configuration, vector: FloatArray | None, counters: Counters, who: str
) -> Network[Any]:
    # An empty vector is of 32 bits whatever the network computes with.
    if vector is not None and vector.size:
        dtype = "float64" if vector.dtype == np.float64 else "float32"
        vector = vector.astype(dtype, copy=False)
        conf = conf.model_copy(update={"dtype": dtype})
    try:
        network = build_network(conf, is_drawn=vector is None)
    except OptionError as error:
        # Some options fit together or not only where labels are known.
        raise FormatError(f"{who}: {CONFIGURATION}: {error}") from None
    if vector is not None:
        place = f"{who}: {_COEFFICIENTS}"
        params = from_dl4j(network, vector, who=place)
        network.params[...] = to_device(params, network.params)
    network.iteration_count = counters.iteration
    network.epoch_count = counters.epoch
    return network


def _read_state(archive: ZipEntries, network: Network[Any], who: str) -> None:
    size = network.updater_state.size
    state = _read_numbers(archive, _UPDATER_STATE, size, who)
    ours = HostVector(network.updater_state)
    with ours.lent():
        ours.host[state_order(network)] = state


def _read_vector(
    archive: ZipEntries, conf: Configuration, who: str, most_inflation: float
) -> FloatArray | None:
    """Return the parameters, before a network is made that would take as many."""
    size = sum(
        math.prod(item.shape) for node in conf.nodes() for item in node.parameters
    )
    place = f"{who}: {_COEFFICIENTS}"
    if _COEFFICIENTS not in archive.names:
        if size:
            raise FormatError(f"{who}: must hold {_COEFFICIENTS}, got none.")
        return None
    stored = max(1, archive.stored_bytes(_COEFFICIENTS))
    if size > max(_FEW, most_inflation * stored):
        raise FormatError(
            f"{place}: must hold a number for each parameter of its configuration, "
            f"{size}, got {stored} bytes, of which each would be {size / stored:.0f} "
            "numbers. If they are nearly all 0, give "
            "daskdl.dl4j.network.model_zip.load a larger most_inflation."
        )
    return _read_numbers(archive, _COEFFICIENTS, size, who)


def _read_numbers(archive: ZipEntries, name: str, size: int, who: str) -> FloatArray:
    """Return a vector, without ever holding more than `size` numbers can need."""
    place = f"{who}: {name}"
    # The longest numbers have eight bytes.
    most = 8 * size + _HEADER_BYTES
    with archive.open(name) as stream:
        entry = bounded(stream, most, place)
        array = read_array(entry, name=place, most_bytes=most)
        # The checksum is compared where the entry ends.
        entry.read()
    if array.dtype.kind != "f":
        raise FormatError(
            f"{place}: must hold floating point numbers, got {array.dtype}."
        )
    if array.size != size:
        raise FormatError(
            f"{place}: must hold {size} numbers, as its configuration says, got "
            f"{array.size}."
        )
    vector: FloatArray = array.reshape(-1)
    return vector
