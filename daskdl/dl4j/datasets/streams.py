"""DL4J's ``DataSet`` and ``MultiDataSet`` files as plain arrays and lists.

Read and written here is the stream; what the arrays mean is the business of
:mod:`daskdl.data.dataset` and :mod:`daskdl.data.multi_dataset`. Both formats may end
with lists that Java serialised: example metadata, label names. They are read as text
and plain data, see :mod:`daskdl.dl4j.java.lists`.

References
----------
``org.nd4j.linalg.dataset.DataSet`` and ``MultiDataSet`` of Deeplearning4j 1.0.0-M2.1,
checked against files that it wrote.
"""

import struct
from collections.abc import Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.class_files import ClassFile
from daskdl.data.stored_arrays import DataSetArrays, MultiDataSetArrays, Tail
from daskdl.dl4j.arrays.layout import ArrayLayout
from daskdl.dl4j.arrays.nd4j import read_stored, write_array
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.java.lists import read_java_list, write_java_list

__all__ = [
    "DATASET",
    "MULTI_DATASET",
    "holds_multi_dataset",
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

# Stands where an entry of a list of masks is null. DL4J compares with one that each
# thread makes for itself, and may take it for a mask; a real one has two dimensions.
_NO_MASK = np.array([-1], dtype=np.float32)

_Array: TypeAlias = NDArray[Any]


def holds_multi_dataset(first_byte: bytes) -> bool:
    """Say by its first byte whether a file is a ``MultiDataSet`` and no ``DataSet``.

    A ``MultiDataSet`` begins with a count of inputs below 2**24, and a ``DataSet`` that
    holds anything with a flag.
    """
    return first_byte == b"\0"


def read_dataset(
    stream: BinaryIO, *, name: str, with_metadata: bool = True
) -> DataSetArrays:
    """Read a ``DataSet``.

    Parameters
    ----------
    stream : binary stream
        Left where the data set ends, or where its metadata begin if they are not read.
    name : str
        What messages call the file.
    with_metadata : bool
        Read example metadata and label names, too.

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
    flags = counted.take_number(">B")
    if flags > _ALL_FLAGS:
        must = "the flags of a DataSet must be below 128"
        raise counted.corrupt(must, str(flags), 0)
    reader = _ArrayReader(counted)
    features = reader.read("features") if flags & _FEATURES else None
    labels = features if flags & _LABELS_ARE_FEATURES else None
    if flags & _LABELS and not flags & _LABELS_ARE_FEATURES:
        labels = reader.read("labels")
    features_mask = reader.read("features_mask") if flags & _FEATURES_MASK else None
    labels_mask = reader.read("labels_mask") if flags & _LABELS_MASK else None
    metadata = names = None
    if with_metadata and flags & _METADATA:
        metadata = read_java_list(counted)
    if with_metadata and flags & _LABEL_NAMES:
        names = _read_names(counted)
    return DataSetArrays(
        features, labels, features_mask, labels_mask, reader.layouts, metadata, names
    )


def write_dataset(stream: BinaryIO, arrays: DataSetArrays) -> None:
    """Write a ``DataSet`` as DL4J 1.0.0-M2.1 does.

    Labels that are the same object as the features are not written twice.

    Raises
    ------
    DataError
        If an array has a dtype that the format does not know, or metadata are no text.
    """
    shared = arrays.labels is not None and arrays.labels is arrays.features
    parts = [
        (_FEATURES, "features", arrays.features),
        (_LABELS, "labels", None if shared else arrays.labels),
        (_FEATURES_MASK, "features_mask", arrays.features_mask),
        (_LABELS_MASK, "labels_mask", arrays.labels_mask),
    ]
    tails = [(_METADATA, arrays.example_metadata), (_LABEL_NAMES, arrays.label_names)]
    flags = _LABELS_ARE_FEATURES if shared else 0
    for flag, _, array in parts:
        flags |= flag if array is not None else 0
    for flag, tail in tails:
        flags |= flag if tail is not None else 0
    stream.write(bytes([flags]))
    for _, name, array in parts:
        if array is not None:
            write_array(stream, array, arrays.layouts.get(name))
    for _, tail in tails:
        if tail is not None:
            write_java_list(stream, tail)


def read_multi_dataset(
    stream: BinaryIO, *, name: str, with_metadata: bool = True
) -> MultiDataSetArrays:
    """Read a ``MultiDataSet``.

    Parameters are those of :func:`read_dataset`.

    Raises
    ------
    CorruptFileError
        If the stream ends too early or is no ``MultiDataSet``.
    """
    counted = CountedStream.of(stream, name)
    counts = counted.take_numbers(">4i")
    if not all(0 <= count <= _MOST_ARRAYS for count in counts):
        must = (
            f"the numbers of arrays of a MultiDataSet must be from 0 to {_MOST_ARRAYS}"
        )
        raise counted.corrupt(must, str(counts), 0)
    if counts[2] not in (0, counts[0]) or counts[3] not in (0, counts[1]):
        must = "a MultiDataSet must have no mask or one for each array"
        got = f"{counts[:2]} arrays and {counts[2:]} masks"
        raise counted.corrupt(must, got, 0)
    reader = _ArrayReader(counted)
    groups = ("features", "labels", "features_masks", "labels_masks")
    features, labels, features_masks, labels_masks = (
        [reader.read(f"{group}[{k}]") for k in range(count)]
        for group, count in zip(groups, counts, strict=True)
    )
    return MultiDataSetArrays(
        features,
        labels,
        [_without_placeholder(mask) for mask in features_masks] or None,
        [_without_placeholder(mask) for mask in labels_masks] or None,
        reader.layouts,
        _multi_metadata(counted) if with_metadata else None,
    )


def write_multi_dataset(stream: BinaryIO, arrays: MultiDataSetArrays) -> None:
    """Write a ``MultiDataSet`` as DL4J 1.0.0-M2.1 does.

    Raises
    ------
    DataError
        If an array has a dtype that the format does not know, or metadata are no text.
    """
    groups: dict[str, Sequence[_Array | None]] = {
        "features": arrays.features,
        "labels": arrays.labels,
        "features_masks": arrays.features_masks or [],
        "labels_masks": arrays.labels_masks or [],
    }
    stream.write(struct.pack(">4i", *map(len, groups.values())))
    for group, members in groups.items():
        for k, array in enumerate(members):
            layout = arrays.layouts.get(f"{group}[{k}]")
            write_array(stream, _NO_MASK if array is None else array, layout)
    if arrays.example_metadata is not None:
        stream.write(struct.pack(">i", 1))
        write_java_list(stream, arrays.example_metadata)


class _ArrayReader:
    """Reads arrays one after another and notes how the unusual ones are stored."""

    def __init__(self, counted: CountedStream) -> None:
        self.layouts: dict[str, ArrayLayout] = {}
        self._counted = counted

    def read(self, name: str) -> _Array:
        stored = read_stored(self._counted)
        if stored.special_layout is not None:
            self.layouts[name] = stored.special_layout
        return stored.values


def _read_names(counted: CountedStream) -> Tail:
    start = counted.offset
    names = read_java_list(counted)
    for name in names:
        if not isinstance(name, str):
            raise counted.corrupt("label names must be texts", repr(name), start)
    return names


def _multi_metadata(counted: CountedStream) -> Tail:
    """Read the metadata behind the masks: nothing, or a 1 and a list."""
    start = counted.offset
    if counted.is_at_end():
        return None
    has_metadata = counted.take_number(">i")
    if has_metadata != 1:
        must = "the end, or 1 and example metadata, must follow the masks"
        raise counted.corrupt(must, str(has_metadata), start)
    return read_java_list(counted)


def _without_placeholder(mask: _Array) -> _Array | None:
    return None if mask.shape == (1,) and mask[0] == -1 else mask


# By these DataSet and MultiDataSet find their files.
DATASET = ClassFile(read_dataset, write_dataset)
MULTI_DATASET = ClassFile(read_multi_dataset, write_multi_dataset)
