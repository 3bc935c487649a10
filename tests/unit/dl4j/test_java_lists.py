"""What Java 17 serialised, read as plain data and written again."""

import io
import pickle
import struct

import pytest

from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.java.lists import read_java_list, write_java_list
from daskdl.dl4j.java.objects import JavaObject
from daskdl.dl4j.java.reader import read_java
from daskdl.dl4j.java.writer import write_java
from daskdl.errors import CorruptFileError, DataError
from tests.unit.dl4j.golden import dataset_bytes, java_bytes, java_names

LISTS = {
    "array_list": ("a", "bb", "ccc"),
    "array_list_same": ("twice", None, "twice"),
    "arrays_as_list": ("red", "green"),
    "list_of": ("x", "y"),
    "list_of_many": ("x", "y", "z"),
    "linked_list": ("a", "b"),
    "singleton": ("only",),
    "empty": (),
    "unmodifiable": ("a",),
    "text": ("ä", "nul\0", "\U0001f600", "l" * 70_000),
}
HEAD = b"\xac\xed\x00\x05"
# A class without fields, annotations or parent, under the name A.
CLASS_A = b"\x72\x00\x01A" + b"\0" * 8 + b"\x02\x00\x00\x78\x70"


def counted(raw):
    return CountedStream(io.BytesIO(raw), "tail")


def list_of(name):
    return read_java_list(counted(java_bytes(name)))


def written(items):
    stream = io.BytesIO()
    write_java_list(stream, items)
    return stream.getvalue()


@pytest.mark.parametrize("name", LISTS)
def test_javas_lists_become_tuples(name):
    assert list_of(name) == LISTS[name]


@pytest.mark.parametrize("name", java_names())
def test_what_java_wrote_is_written_again(name):
    stream = counted(java_bytes(name))
    value, again = read_java(stream), io.BytesIO()
    assert stream.is_at_end()
    write_java(again, value)
    assert again.getvalue() == java_bytes(name)


def test_a_new_list_is_what_java_makes_of_an_array_list():
    metadata = dataset_bytes("ds_metadata")
    expected = metadata[metadata.index(HEAD) :]
    assert written([f"example-{k}" for k in range(5)]) == expected


def test_a_list_that_was_read_is_written_as_the_class_it_was():
    assert written(list_of("linked_list")) == java_bytes("linked_list")


def test_a_list_that_was_read_survives_a_pickle():
    again = pickle.loads(pickle.dumps(list_of("records")))
    assert written(again) == java_bytes("records")


def test_part_of_a_list_is_read_again():
    part = written(list_of("records")[1:])
    (record,) = read_java_list(counted(part))
    assert record.fields["lineNumber"] == 4


def test_the_fields_of_records_can_be_read():
    record = list_of("records")[0]
    assert repr(record) == "JavaObject(Lists$Meta)"
    assert record.fields["lineNumber"] == 3
    assert record.fields["uri"].fields["string"] == "file:/a.csv"
    assert record.fields["color"].constant == "GREEN"
    assert record.fields["reader"].java_class.name == "java.util.ArrayList"
    assert record.fields["span"].items == struct.pack(">2q", 1, 2)


def test_an_object_may_hold_itself():
    (record,) = list_of("records_cyclic")
    assert record.fields["next"] is record
    assert record.levels[1].data == [b"\0" * 300]


@pytest.mark.parametrize("items", [[3], [b"raw"], ["a", object()]])
def test_what_is_neither_text_nor_javas_is_not_written(items):
    with pytest.raises(DataError, match="every entry must be text, None or an object"):
        written(items)


def test_an_object_that_holds_something_else_is_not_written():
    record = list_of("records")[0]
    record.levels[0].values["next"] = {"python": "mapping"}
    with pytest.raises(DataError, match=r"must be text, None or what .* dict"):
        written([record])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (java_bytes("set"), "a list of Java must be one of .* got 'java.util.HashSet'"),
        (HEAD + b"\x74\x00\x01a", "a list of Java must be one of .* got .*str"),
        (b"PK\x03\x04" + b"\0" * 9, "must begin with aced0005, got 504b0304 at offs"),
        (HEAD + b"\x00", "must go on with a known mark, got 0x00 at offset 4"),
        (HEAD + b"\x78", "a value must follow, got the end mark at offset 4"),
        (HEAD + b"\x71\x00\x7e\x00\x00", "to one of 0 earlier objects, got 0"),
        (HEAD + b"\x74\xff\xff", "65535 bytes must follow at offset 7, got 0"),
        (HEAD + b"\x74\x00\x01\xff", r"text must be UTF-8, got b'\\xff' at offset 7"),
        (HEAD + b"\x7c" + b"\xff" * 8, "must be from 0 to 2147483647, got -1"),
        (HEAD + b"\x7a\x7f\xff\xff\xff", "2147483647 bytes must follow"),
        (HEAD + b"\x73\x70", "an object must have a class, got none"),
        (
            HEAD + b"\x73\x74\x00\x01a",
            "the description of a class must follow, got str",
        ),
        (
            HEAD + b"\x72\x00\x01A" + b"\0" * 8 + b"\x02\x00\x01?\x00\x01x",
            r"field 'x' must have a known type, got '\?'",
        ),
        (
            HEAD + b"\x72\x00\x01A" + b"\0" * 8 + b"\x02\x00\x01L\x00\x01x\x70",
            "the type of field 'x' must be text, got NoneType",
        ),
        (
            HEAD + b"\x73\x72\x00\x01A" + b"\0" * 8 + b"\x04\x00\x00\x78\x70",
            "objects must say where they end, got one of class 'A'",
        ),
        (
            HEAD + b"\x75" + CLASS_A + b"\x00\x00\x00\x00",
            "an array must have a class of arrays, got 'A'",
        ),
        (HEAD + b"\x7e" + CLASS_A + b"\x70", "must have a name, got NoneType"),
    ],
)
def test_damage_is_named_with_its_offset(raw, message):
    with pytest.raises(CorruptFileError, match=rf"^tail: .*{message}"):
        read_java_list(counted(raw))


def test_an_object_of_a_class_without_data_has_an_empty_level():
    raw = HEAD + b"\x73\x72\x00\x01A" + b"\0" * 8 + b"\x00\x00\x00\x78\x70"
    value = read_java(counted(raw))
    assert isinstance(value, JavaObject)
    assert value.fields == {}


def test_a_list_without_its_length_is_no_list():
    raw = java_bytes("array_list").replace(b"\x77\x04\0\0\0\3", b"")
    with pytest.raises(CorruptFileError, match="a list of Java must be one of"):
        read_java_list(counted(raw))


@pytest.mark.parametrize("items", [None, b"12"])
def test_a_list_around_no_array_of_objects_is_refused(items):
    value = read_java(counted(java_bytes("arrays_as_list")))
    value.levels[-1].values["a"] = items
    stream = io.BytesIO()
    write_java(stream, value)
    with pytest.raises(CorruptFileError, match="a list of Java must be one of"):
        read_java_list(counted(stream.getvalue()))


def test_a_list_around_itself_is_refused():
    """The entries of such a list would be looked for without end."""
    wrapper = read_java(counted(java_bytes("unmodifiable")))
    wrapper.levels[-1].values["list"] = wrapper
    stream = io.BytesIO()
    write_java(stream, wrapper)
    with pytest.raises(CorruptFileError, match=r"java\.util\.Collections\$Unmod"):
        read_java_list(counted(stream.getvalue()))


def test_deep_nesting_is_refused_before_the_stack_is_full():
    # Arrays of arrays: an array's class, its size, and the first of its items.
    array = b"\x75\x71\x00\x7e\x00\x00\x00\x00\x00\x01"
    first = b"\x75\x72\x00\x02[L" + b"\0" * 8 + b"\x02\x00\x00\x78\x70\x00\x00\x00\x01"
    with pytest.raises(CorruptFileError, match="must nest at most 50 deep, got more"):
        read_java(counted(HEAD + first + array * 10_000))


def test_a_class_that_extends_itself_is_refused():
    raw = HEAD + b"\x72\x00\x01A" + b"\0" * 8 + b"\x02\x00\x00\x78\x71\x00\x7e\x00\x00"
    with pytest.raises(CorruptFileError, match="class 'A' must extend at most 50"):
        read_java(counted(raw))


def test_many_small_pieces_are_refused_before_they_fill_the_memory():
    array = b"\x75\x72\x00\x02[L" + b"\0" * 8 + b"\x02\x00\x00\x78\x70"
    raw = HEAD + array + struct.pack(">i", 2**31 - 1) + b"\x70" * 1_000_001
    with pytest.raises(CorruptFileError, match="must have at most 1000000 pieces"):
        read_java(counted(raw))


@pytest.mark.parametrize("name", ["records_cyclic", "boxed", "arrays", "map"])
def test_a_stream_that_was_cut_off_anywhere_is_corrupt(name):
    raw = java_bytes(name)
    for n_bytes in range(len(raw)):
        with pytest.raises(CorruptFileError, match=r"^tail: "):
            read_java(counted(raw[:n_bytes]))
