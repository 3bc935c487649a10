"""SequenceFiles of Hadoop and of the writer beside: all records, each in one span."""

import io
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers import scanned_stream, sequence_file
from daskdl_bridge.readers.sequence_file import SequenceFile
from daskdl_bridge.readers.vints import vint_at
from daskdl_bridge.readers.writables import writable_of
from tests.unit.bridge.sequence_files import (
    COMPRESSORS,
    HADOOP,
    MARK,
    block,
    block_of_buffers,
    header,
    records,
    vint,
)

CODECS = ["BZip2Codec", "DefaultCodec", "DeflateCodec", "GzipCodec", "Lz4Codec"]
COMPRESSED = [
    f"{kind}_{codec}"
    for kind in ("RECORD", "BLOCK")
    for codec in [*CODECS, "SnappyCodec"]
]
TEXTS = [(i - 20, "é" + "ab" * i) for i in range(40)]
EXPECTED: dict[str, list[tuple[Any, Any]]] = {
    **{name: [(i - 20, "é" + "ab" * 20 * i) for i in range(40)] for name in COMPRESSED},
    "int_text": TEXTS,
    "vint_vlong": [
        ((1 if i % 2 == 0 else -1) * (1 << i // 2), (1 << i) - 5) for i in range(62)
    ],
    "float_double": [(i / 2, i / 3) for i in range(5)],
    "boolean_byte": [(i % 2 == 1, i - 2) for i in range(5)],
    "null_long": [(None, i - (1 << 40)) for i in range(5)],
    "empty": [],
    "map/part-r-00000/data": [(i, i / 2) for i in range(300)],
}
PAIRS = [(b"k" * (i % 5), b"v%d" % i * (i % 7)) for i in range(50)]


class OnceForward(io.BytesIO):
    """A file of a store that gives it from its beginning only."""

    def seek(self, *_: Any) -> int:
        raise ValueError("cannot seek")


def raw(data: bytes, span: tuple[int, int] | None = None) -> list[tuple[bytes, bytes]]:
    found = SequenceFile(io.BytesIO(data), "x").records(span)
    return [(key, value) for _, key, value in found]


def of_hadoop(name: str) -> bytes:
    return (HADOOP / name).read_bytes()


def spans(size: int, step: int) -> list[tuple[int, int]]:
    return [(start, min(start + step, size)) for start in range(0, size, step)]


@pytest.mark.parametrize("name", EXPECTED)
def test_records_are_those_that_hadoop_was_given(name):
    data = of_hadoop(name)
    head = SequenceFile(io.BytesIO(data), name).header
    key, value = writable_of(head.key_class), writable_of(head.value_class)
    decoded = [(key.decode(k), value.decode(v)) for k, v in raw(data)]
    assert decoded == EXPECTED[name]


def test_an_array_has_its_elements_in_the_name_of_its_class():
    data = of_hadoop("short_array")
    head = SequenceFile(io.BytesIO(data), "x").header
    assert head.value_class == "WriteSequenceFiles$DoubleArrayWritable"
    decode = writable_of(head.value_class).decode
    assert [decode(value).tolist() for _, value in raw(data)] == [
        [i, i / 2, -i] for i in range(5)
    ]


@pytest.mark.parametrize("step", [1, 7, 100, 1000, 1 << 20])
@pytest.mark.parametrize(
    "name", ["int_text", "RECORD_GzipCodec", "BLOCK_SnappyCodec", "empty"]
)
def test_each_record_is_in_one_span(name, step):
    data = of_hadoop(name)
    found = [pair for span in spans(len(data), step) for pair in raw(data, span)]
    assert found == raw(data)


@pytest.mark.parametrize("name", ["int_text", "BLOCK_SnappyCodec"])
def test_spans_share_the_records(name):
    data = of_hadoop(name)
    found = [raw(data, span) for span in spans(len(data), 1000)]
    assert sum(1 for pairs in found if pairs) > 1


@pytest.mark.parametrize("piece", [1, 3, 16, 1 << 20])
def test_pieces_that_are_read_may_end_anywhere(monkeypatch, piece):
    monkeypatch.setattr(scanned_stream, "_PIECE_BYTES", piece)
    data = of_hadoop("int_text")
    found = [pair for span in spans(len(data), 500) for pair in raw(data, span)]
    assert found == raw(data)


def test_a_store_without_seek_is_read_up_to_the_span(monkeypatch):
    monkeypatch.setattr(scanned_stream, "_PIECE_BYTES", 64)
    data = of_hadoop("int_text")
    whole = SequenceFile(OnceForward(data), "x").records((1200, 1 << 30))
    assert [(key, value) for _, key, value in whole] == raw(data, (1200, 1 << 30))


def test_a_span_behind_the_end_has_no_records():
    data = of_hadoop("int_text")
    assert raw(data, (len(data) + 5, len(data) + 10)) == []


def test_the_mark_in_the_header_is_none():
    data = header() + records(PAIRS)
    assert raw(data, (1, len(data))) == []
    assert raw(data, (0, 1)) == PAIRS


@pytest.mark.parametrize("codec", [None, *COMPRESSORS])
def test_values_that_are_written_are_read(codec):
    data = header(codec=codec) + records(PAIRS, codec, sync_every=7)
    assert raw(data) == PAIRS


@pytest.mark.parametrize("codec", COMPRESSORS)
def test_blocks_that_are_written_are_read(codec):
    blocks = block(PAIRS, codec) + block([], codec) + block(PAIRS[:1], codec)
    assert raw(header(codec=codec, is_block=True) + blocks) == [*PAIRS, PAIRS[0]]


@pytest.mark.parametrize("version", [4, 5])
def test_older_versions_have_less_in_their_headers(version):
    data = header(codec="DefaultCodec", version=version)
    assert raw(data + records(PAIRS, "DefaultCodec")) == PAIRS


def test_marks_may_stand_behind_one_another_and_at_the_end():
    assert raw(header() + MARK + MARK + records(PAIRS) + MARK) == PAIRS


@pytest.mark.parametrize("number", [0, -1, 127, 128, -112, -113, 255, -(1 << 63)])
def test_integers_of_variable_length(number):
    stored = vint(number)
    assert vint_at(b"x" + stored, 1) == (number, 1 + len(stored))


@pytest.mark.parametrize("stored", [b"", vint(128)[:-1]])
def test_integers_that_end_too_early_are_refused(stored):
    with pytest.raises(ValueError, match=r"missing|cut short"):
        vint_at(stored, 0)


BAD_HEADERS = {
    "SEQ'": b"PAR1",
    "version 4 to 6, got 3": b"SEQ\x03",
    "version 4 to 6, got 7": b"SEQ\x07",
    "class name must be from 0 to 1024, got -1": b"SEQ\x06\xff",
    "flag must be from 0 to 1": header()[:-22] + b"\x02",
    "blocks must be compressed": header(is_block=True),
    "bytes of metadata must be from 0": header(metadata=b"\0\0\0\x01\xff"),
    "entries of metadata must be from 0": header(metadata=b"\xff\xff\xff\xfe"),
}


@pytest.mark.parametrize("message", BAD_HEADERS)
def test_a_bad_header_is_refused(message):
    with pytest.raises(DataError, match=rf"^x: .*{message}"):
        raw(BAD_HEADERS[message])


def test_an_unknown_codec_is_refused():
    data = header(codec="DefaultCodec").replace(b"DefaultC", b"BrotliCo")
    with pytest.raises(DataError, match=r"BZip2Codec.*, got 'org.*BrotliCoodec'"):
        raw(data)


BAD_RECORDS = {
    "a record must have 0 to": struct.pack(">ii", -2, 0),
    "bytes of a key must be from 0 to 5": struct.pack(">ii", 5, 6),
    "got 2 before the end": struct.pack(">ii", 5, 1) + b"abc",
    "4 bytes must follow": b"\0\0",
    "mark 6465.* must follow -1, got 6566": b"\xff" * 4 + bytes(range(101, 117)),
}


@pytest.mark.parametrize("message", BAD_RECORDS)
def test_a_bad_record_is_refused_with_its_offset(message):
    good = header() + records(PAIRS)
    with pytest.raises(CorruptFileError, match=rf"^x: (?=.*offset \d+).*{message}"):
        raw(good + BAD_RECORDS[message])


def test_a_length_that_no_example_has_is_refused_at_once():
    class Endless(io.BytesIO):
        def read(self, n_bytes: int | None = -1) -> bytes:
            return super().read(n_bytes) or bytes(n_bytes or 0)

    start = header()
    data = start + struct.pack(">ii", (128 << 20) + 1, 0)
    with pytest.raises(CorruptFileError, match=f"got 134217729 at offset {len(start)}"):
        next(SequenceFile(Endless(data), "x").records())


def test_a_value_that_is_not_compressed_is_refused_with_its_offset():
    start = header(codec="DefaultCodec")
    with pytest.raises(
        CorruptFileError, match=rf"at offset {len(start)} must be whole"
    ):
        raw(start + records([(b"k", b"value")]))


def plain_blocks(n_records: int, *buffers: bytes) -> bytes:
    compress = COMPRESSORS["DefaultCodec"]
    blocks = block_of_buffers(n_records, [compress(one) for one in buffers])
    return header(codec="DefaultCodec", is_block=True) + blocks


BAD_BLOCKS = {
    "an integer of variable length is missing": (2, b"\x01", b"k", b"\x01\x01", b"ab"),
    "an item of 2 bytes at 0": (1, b"\x02", b"k", b"\x01", b"a"),
    "an item of -1 bytes at 0": (1, b"\xff", b"k", b"\x01", b"a"),
    "1 bytes behind the last": (1, b"\x01", b"k", b"\x01", b"ab"),
    "0 bytes behind the last": (1, b"\x01\x00", b"k", b"\x01", b"a"),
}


@pytest.mark.parametrize("message", BAD_BLOCKS)
def test_a_block_that_contradicts_itself_is_refused(message):
    with pytest.raises(CorruptFileError, match=message):
        raw(plain_blocks(*BAD_BLOCKS[message]))


def test_a_block_must_begin_with_a_mark():
    with pytest.raises(CorruptFileError, match=r"a block must begin with -1, got 0"):
        raw(header(codec="DefaultCodec", is_block=True) + b"\0\0\0\0")


def test_a_block_of_impossibly_many_records_is_refused():
    with pytest.raises(CorruptFileError, match=r"records of a block must be from 0"):
        raw(plain_blocks(1 << 40, b"", b"", b"", b""))


def test_a_bomb_is_refused_before_it_takes_memory(monkeypatch):
    monkeypatch.setattr(sequence_file, "_MOST_BYTES", 1000)
    with pytest.raises(
        CorruptFileError, match=r"at most 1000 bytes.*: more than 997 by"
    ):
        raw(plain_blocks(1, b"\x01", b"k", b"\x01", bytes(1001)))


def test_the_buffers_of_a_block_share_what_it_may_take(monkeypatch):
    monkeypatch.setattr(sequence_file, "_MOST_BYTES", 1000)
    data = plain_blocks(1, vint(499), bytes(499), vint(500), bytes(500))
    with pytest.raises(CorruptFileError, match=r"more than 495 bytes when it is"):
        raw(data)


@given(st.sampled_from(sorted(EXPECTED)), st.integers(0, 1 << 20))
def test_a_file_that_ends_anywhere_gives_records_or_is_refused(name, cut):
    data = of_hadoop(name)
    check_damaged(data[: cut % len(data)])


@given(
    st.sampled_from(sorted(EXPECTED)),
    st.integers(0, 1 << 20),
    st.binary(min_size=1, max_size=9),
    st.booleans(),
)
def test_bytes_that_changed_give_records_or_are_refused(name, at, changed, is_span):
    data = of_hadoop(name)
    at %= len(data)
    damaged = data[:at] + changed + data[at + len(changed) :]
    check_damaged(damaged, (at // 2, len(data)) if is_span else None)


def check_damaged(data: bytes, span: tuple[int, int] | None = None) -> None:
    """Fail if damaged bytes raise what is no error of data, or give more than is in.

    Lengths in these files are so small that whatever a damaged one claims ends soon.
    """
    try:
        n_found = len(raw(data, span))
    except DataError:
        return
    assert n_found <= 1000
