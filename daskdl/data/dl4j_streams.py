"""DL4J's ``DataSet`` and ``MultiDataSet`` files as plain arrays.

Read and written here is the stream; what the arrays mean is the business of
:mod:`daskdl.data.dataset` and :mod:`daskdl.data.multi_dataset`. Both formats may end
with lists that Java serialised (example metadata, label names). Those have no length in
front, so reading stops before them, and they are never written.

References
----------
``org.nd4j.linalg.dataset.DataSet`` and ``MultiDataSet`` of Deeplearning4j 1.0.0-M2.1,
checked against files that it wrote.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.data.counted_stream import CountedStream
from daskdl.data.nd4j import read_array, write_array
from daskdl.errors import CorruptFileError

__all__ = [
    "DataSetArrays",
    "MultiDataSetArrays",
    "read_dataset",
    "read_multi_dataset",
    "write_dataset",
    "write_multi_dataset",
]

_FEATURES, _LABELS, _LABELS_ARE_FEATURES = 1, 2, 4
_FEATURES_MASK, _LABELS_MASK = 8, 16
_METADATA, _LABEL_NAMES = 32, 64
_ALL_FLAGS = 127

# No network has more inputs or outputs; a foreign file seems to ask for billions.
_MOST_ARRAYS = 10_000

# Stands where an entry of a list of masks is null.
_NO_MASK = np.array([-1], dtype=np.float32)

_Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class DataSetArrays:
    """What a ``DataSet`` file holds; any part may be missing."""

    features: _Array | None = None
    labels: _Array | None = None
    features_mask: _Array | None = None
    labels_mask: _Array | None = None


@dataclass(frozen=True)
class MultiDataSetArrays:
    """What a ``MultiDataSet`` file holds; masks are None where no array has one."""

    features: list[_Array] = field(default_factory=list)
    labels: list[_Array] = field(default_factory=list)
    features_masks: list[_Array | None] | None = None
    labels_masks: list[_Array | None] | None = None


def read_dataset(stream: BinaryIO, *, name: str) -> DataSetArrays:
    """Read a ``DataSet`` up to the end of its masks.

    Parameters
    ----------
    stream : binary stream
        Left where the masks end.
    name : str
        What messages call the file.

    Returns
    -------
    DataSetArrays
        Labels that the file declares to be the features are the same array.

    Raises
    ------
    CorruptFileError
        If the stream ends too early or is no ``DataSet``.
    """
    counted = CountedStream.of(stream, name)
    flags = counted.take(1)[0]
    if flags > _ALL_FLAGS:
        raise CorruptFileError(
            f"{name}: the flags of a DataSet must be below 128, got {flags} at offset "
            f"0. Is it a DataSet file?"
        )
    features = read_array(counted) if flags & _FEATURES else None
    labels = features if flags & _LABELS_ARE_FEATURES else None
    if flags & _LABELS and not flags & _LABELS_ARE_FEATURES:
        labels = read_array(counted)
    features_mask = read_array(counted) if flags & _FEATURES_MASK else None
    labels_mask = read_array(counted) if flags & _LABELS_MASK else None
    return DataSetArrays(features, labels, features_mask, labels_mask)


def write_dataset(stream: BinaryIO, arrays: DataSetArrays) -> None:
    """Write a ``DataSet`` as DL4J 1.0.0-M2.1 does.

    Labels that are the same object as the features are not written twice.

    Raises
    ------
    DataError
        If an array has a dtype that the format does not know.
    """
    shared = arrays.labels is not None and arrays.labels is arrays.features
    parts = [
        (_FEATURES, arrays.features),
        (_LABELS, None if shared else arrays.labels),
        (_FEATURES_MASK, arrays.features_mask),
        (_LABELS_MASK, arrays.labels_mask),
    ]
    flags = _LABELS_ARE_FEATURES if shared else 0
    for flag, array in parts:
        flags |= flag if array is not None else 0
    stream.write(bytes([flags]))
    for _, array in parts:
        if array is not None:
            write_array(stream, array)


def read_multi_dataset(stream: BinaryIO, *, name: str) -> MultiDataSetArrays:
    """Read a ``MultiDataSet`` up to the end of its masks.

    Parameters
    ----------
    stream : binary stream
        Left where the masks end.
    name : str
        What messages call the file.

    Raises
    ------
    CorruptFileError
        If the stream ends too early or is no ``MultiDataSet``.
    """
    counted = CountedStream.of(stream, name)
    counts = struct.unpack(">4i", counted.take(16))
    if not all(0 <= count <= _MOST_ARRAYS for count in counts):
        raise CorruptFileError(
            f"{name}: the numbers of arrays in a MultiDataSet must be from 0 to "
            f"{_MOST_ARRAYS}, got {counts} at offset 0. Is it a MultiDataSet file?"
        )
    if counts[2] not in (0, counts[0]) or counts[3] not in (0, counts[1]):
        raise CorruptFileError(
            f"{name}: a MultiDataSet must have no mask or one for each array, got "
            f"{counts[:2]} arrays and {counts[2:]} masks."
        )
    features, labels, features_masks, labels_masks = (
        [read_array(counted) for _ in range(count)] for count in counts
    )
    return MultiDataSetArrays(
        features,
        labels,
        [_without_placeholder(mask) for mask in features_masks] or None,
        [_without_placeholder(mask) for mask in labels_masks] or None,
    )


def write_multi_dataset(stream: BinaryIO, arrays: MultiDataSetArrays) -> None:
    """Write a ``MultiDataSet`` as DL4J 1.0.0-M2.1 does.

    Raises
    ------
    DataError
        If an array has a dtype that the format does not know.
    """
    groups: list[Sequence[_Array | None]] = [
        arrays.features,
        arrays.labels,
        arrays.features_masks or [],
        arrays.labels_masks or [],
    ]
    stream.write(struct.pack(">4i", *(len(group) for group in groups)))
    for group in groups:
        for array in group:
            write_array(stream, _NO_MASK if array is None else array)


def _without_placeholder(mask: _Array) -> _Array | None:
    return None if mask.shape == (1,) and mask[0] == -1 else mask
