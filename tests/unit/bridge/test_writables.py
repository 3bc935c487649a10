"""Keys and values by their classes: Hadoop's Writables and DataVec's records."""

import io
import struct

import numpy as np
import pyarrow as pa
import pytest

from daskdl.dl4j.arrays.nd4j import write_array
from daskdl.errors import CorruptFileError
from daskdl_bridge.readers.datavec_records import decode_record, record_types
from daskdl_bridge.readers.writables import writable_of
from tests.unit.bridge.sequence_files import IO, stored_bytes, text

ARRAYS = {
    "x.BooleanArrayWritable": (b"\x01\x00\x02", [True, False, True]),
    "ByteArrayWritable": (b"\xff", [-1]),
    "a.b.C$FloatArrayWritable": (struct.pack(">2f", 0.5, -1), [0.5, -1]),
    "org.x.IntArrayWritable": (struct.pack(">2i", 5, -6), [5, -6]),
    "org.x.LongArrayWritable": (struct.pack(">q", -(1 << 50)), [-(1 << 50)]),
    "org.x.ShortArrayWritable": (b"", []),
}


@pytest.mark.parametrize("class_name", ARRAYS)
def test_arrays_are_those_of_the_class_in_their_name(class_name):
    stored, elements = ARRAYS[class_name]
    array = writable_of(class_name)
    decoded = array.decode(struct.pack(">i", len(elements)) + stored)
    assert pa.array([decoded], array.arrow_type).to_pylist() == [elements]


def test_arrays_of_texts():
    decode = writable_of("org.x.TextArrayWritable").decode
    assert decode(b"\0\0\0\x02" + text("é") + text("")) == ["é", ""]


@pytest.mark.parametrize(
    "name",
    [IO + "ArrayWritable", "x.ObjectArrayWritable", "x.Text", IO + "MapWritable"],
)
def test_other_classes_are_not_known(name):
    assert writable_of(name) is None


BAD = {
    IO + "IntWritable": [b"", b"\0\0\0", b"\0\0\0\0\0"],
    IO + "NullWritable": [b"\0"],
    IO + "BytesWritable": [b"\0\0", b"\0\0\0\x02a", b"\0\0\0\0a", b"\xff\xff\xff\xff"],
    IO + "Text": [b"", b"\x02a", b"\x01ab", b"\xff", b"\x01\xff"],
    IO + "VLongWritable": [b"", b"\x8f", b"\x01\x01"],
    "x.DoubleArrayWritable": [b"", b"\0\0\0\x01", b"\0\0\0\0a", b"\xff\xff\xff\xff"],
    "x.TextArrayWritable": [b"\x7f\xff\xff\xff", b"\0\0\0\x01\x01", b"\0\0\0\0a"],
}


@pytest.mark.parametrize(
    ("name", "stored"), [(name, one) for name, some in BAD.items() for one in some]
)
def test_bytes_that_are_none_of_a_class_are_refused(name, stored):
    with pytest.raises(ValueError, match=r"\w"):
        writable_of(name).decode(stored)


def of_array(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    write_array(stream, array)
    return b"\0\x08\x01" + stream.getvalue()


def record(*values: bytes) -> bytes:
    return struct.pack(">i", len(values)) + b"".join(values)


def test_a_record_has_values_of_any_types():
    values = decode_record(
        record(
            b"\0\x00\x01",
            b"\0\x01\xff",
            struct.pack(">hd", 2, 0.1),
            struct.pack(">hf", 3, 0.5),
            struct.pack(">hi", 4, -7),
            struct.pack(">hq", 5, 1 << 40),
            b"\0\x06",
            b"\0\x07" + text("né"),
            b"\0\x08\x00",
        ),
        "x",
    )
    assert values == [True, -1, 0.1, 0.5, -7, 1 << 40, None, "né", None]


def test_arrays_of_a_record_are_flat():
    array = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    (values,) = decode_record(record(of_array(array)), "x")
    assert values.tolist() == [0, 1, 2, 3, 4, 5]


def test_columns_of_records_have_the_types_of_their_values():
    values = [True, 1, 0.5, "a", np.zeros(2, np.float32), None]
    assert record_types([values]) == {
        "_c0": pa.bool_(),
        "_c1": pa.int64(),
        "_c2": pa.float64(),
        "_c3": pa.string(),
        "_c4": pa.list_(pa.float32()),
        "_c5": pa.null(),
    }


BAD_RECORDS = {
    "number of values of a record must be from 0": b"\xff\xff\xff\xff",
    "2 bytes must follow at offset 4": record()[:3] + b"\x01",
    "the type of a value must be one of": record(b"\0\x0b"),
    "a length must be 0 or more, got -1": record(b"\0\x07\xff"),
    "a text must be UTF-8": record(b"\0\x07\x01\xff"),
    "a flag must be from 0 to 1, got 2": record(b"\0\x08\x02"),
    "must end behind its last value": record() + b"a",
    "got 0 before the end": record(b"\0\x02"),
}


@pytest.mark.parametrize("message", BAD_RECORDS)
def test_a_damaged_record_is_refused(message):
    with pytest.raises(CorruptFileError, match=rf"^x: .*{message}"):
        decode_record(BAD_RECORDS[message], "x")


def test_bytes_are_what_follows_their_length():
    decode = writable_of(IO + "BytesWritable").decode
    assert decode(stored_bytes(b"\0ab")) == b"\0ab"
