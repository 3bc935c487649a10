"""SequenceFiles as examples: columns, blocks, spans, and what is refused."""

import struct
from pathlib import Path
from typing import Any

import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, DataError, OptionError
from daskdl_bridge.readers import sequence_table, table_partitions
from daskdl_bridge.readers.datavec_records import RECORD_WRITABLE
from daskdl_bridge.source import PathSources
from tests.unit.bridge.sequence_files import (
    HADOOP,
    MARK,
    header,
    records,
    text,
)
from tests.unit.bridge.table_files import load_one, open_path

DOUBLES = "x.DoubleArrayWritable"


def doubles(*values: float) -> bytes:
    return struct.pack(f">i{len(values)}d", len(values), *values)


def integer(value: int) -> bytes:
    return struct.pack(">i", value)


def record(*values: tuple[int, str, Any]) -> bytes:
    """Return one of DataVec's, of types, their forms for struct, and values."""
    stored = (struct.pack(f">h{form}", kind, value) for kind, form, value in values)
    return integer(len(values)) + b"".join(stored)


def write(path: Path, pairs: Any, *, sync_every: int = 0, **classes: str) -> str:
    path.write_bytes(header(**classes) + records(pairs, sync_every=sync_every))
    return str(path)


def labelled(path: Path, n_rows: int = 6, **how: Any) -> str:
    pairs = [(integer(i % 3), doubles(i, -i)) for i in range(n_rows)]
    return write(path, pairs, key="IntWritable", value=DOUBLES, **how)


def test_keys_may_be_labels(tmp_path):
    path = labelled(tmp_path / "part-00000")
    batch = load_one(path, features="value", label="key", n_classes=3)
    assert batch.features.tolist() == [[i, -i] for i in range(6)]
    assert batch.labels.argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]


def test_the_format_can_be_named(tmp_path):
    path = labelled(tmp_path / "x.bin")
    how = {"features": "value", "label": "key"}
    assert load_one(path, format="sequence_file", **how).num_examples == 6


@pytest.mark.parametrize("content", [b"", b"SE", b"a,b\n"])
def test_other_files_without_an_ending_are_of_no_known_format(tmp_path, content):
    (tmp_path / "part-00000").write_bytes(content)
    with pytest.raises(DataError, match=r"must end in one of .*, so that the format"):
        open_path(str(tmp_path / "part-00000"))


def test_values_of_datavec_are_columns(tmp_path):
    pairs = [
        (integer(i), record((2, "d", i / 2), (4, "i", i), (5, "q", i % 2)))
        for i in range(4)
    ]
    path = write(tmp_path / "x.seq", pairs, key="IntWritable", value=RECORD_WRITABLE)
    batch = load_one(path, features=("_c0", "_c1"), label="_c2", n_classes=2, key="key")
    assert batch.features.tolist() == [[i / 2, i] for i in range(4)]
    assert batch.labels.tolist() == [[1, 0], [0, 1]] * 2
    assert batch.keys.tolist() == [0, 1, 2, 3]


def test_columns_of_datavec_are_those_of_the_first_record_anywhere(tmp_path):
    classes = {"key": "IntWritable", "value": RECORD_WRITABLE}
    write(tmp_path / "a.seq", [], **classes)
    write(tmp_path / "b.seq", [(integer(1), record((2, "d", 0.5)))], **classes)
    partitions = open_path(str(tmp_path), features="_c0", label="key").partitions
    assert [one.load().features.tolist() for one in partitions] == [[], [[0.5]]]


def test_records_of_datavec_must_have_as_many_values_as_the_first(tmp_path):
    pairs = [(b"\0\0\0\0", record(*[(4, "i", 1)] * n)) for n in (2, 3)]
    path = write(tmp_path / "x.seq", pairs, key="IntWritable", value=RECORD_WRITABLE)
    with pytest.raises(DataError, match=r"offset \d+: must hold 2 values .*, got 3"):
        load_one(path, features="_c0", label="key")


def test_values_of_datavec_must_have_the_types_of_the_first(tmp_path):
    pairs = [(b"\0\0\0\0", record(one)) for one in ((4, "i", 1), (2, "d", 0.5))]
    path = write(tmp_path / "x.seq", pairs, key="IntWritable", value=RECORD_WRITABLE)
    with pytest.raises(ColumnError, match=r"column '_c0' must hold int64 as in"):
        load_one(path, features="_c0", label="key")


def test_the_index_of_a_map_file_is_no_part(tmp_path):
    path = str(HADOOP / "map")
    (partition,) = open_path(path, features="value", label="key").partitions
    assert partition.load().features[:, 0].tolist() == [i / 2 for i in range(300)]


def test_an_index_without_its_data_is_read(tmp_path):
    path = labelled(tmp_path / "index")
    assert load_one(path, features="value", label="key").num_examples == 6


def test_a_large_file_is_shared_out_and_read_by_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(table_partitions, "_SPAN_BYTES", 1000)
    monkeypatch.setattr(sequence_table, "BLOCK_BYTES", 500)
    path = labelled(tmp_path / "part-00000", 200, sync_every=5)
    partitions = open_path(path, features="value", label="key").partitions
    assert len(partitions) > 5
    blocks = [list(one.load_blocks()) for one in partitions]
    assert max(map(len, blocks)) > 1
    found = [row[0] for some in blocks for block in some for row in block.features]
    assert found == list(range(200))


def test_a_span_without_marks_has_no_examples(tmp_path, monkeypatch):
    monkeypatch.setattr(table_partitions, "_SPAN_BYTES", 1000)
    path = labelled(tmp_path / "part-00000", 100)
    partitions = open_path(path, features="value", label="key").partitions
    counts = [one.load().num_examples for one in partitions]
    assert counts == [100] + [0] * (len(counts) - 1)


def test_a_row_of_a_span_is_told_by_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(table_partitions, "_SPAN_BYTES", 100)
    bad = [(integer(0), doubles(1, 2)), (integer(0), doubles(1, float("nan")))]
    path = Path(labelled(tmp_path / "part-00000", 3))
    path.write_bytes(path.read_bytes() + MARK + records(bad))
    *_, last = (
        one
        for one in open_path(str(path), features="value", label="key").partitions
        if str(one.first_row) != "0"
        and one.part.span[0] <= path.read_bytes().rindex(MARK) < one.part.span[1]
    )
    start, stop = last.part.span
    with pytest.raises(DataError, match=f"row 1 of bytes {start} to {stop}"):
        last.load()


def test_the_columns_are_told_without_loading(tmp_path):
    path = write(tmp_path / "x.seq", [], key="LongWritable", value="org.x.MyWritable")
    assert PathSources().look(path, SourceOptions()).columns == {
        "key": "int64",
        "value": "org.x.MyWritable",
    }


def test_a_class_that_is_not_known_may_stand_where_it_is_not_read(tmp_path):
    pairs = [(b"?", doubles(1, 2))]
    path = write(tmp_path / "x.seq", pairs, key="org.x.MyWritable", value=DOUBLES)
    batch = load_one(path, features="value", require_labels=False)
    assert batch.features.tolist() == [[1, 2]]


def test_a_class_that_is_not_known_is_refused_where_it_is_read(tmp_path):
    value = "org.apache.hadoop.io.ArrayWritable"
    path = write(tmp_path / "x.seq", [], key="IntWritable", value=value)
    with pytest.raises(
        DataError, match=r"column 'value' must be of a class .* got org"
    ):
        open_path(path, features="value", label="key")


def test_all_columns_may_be_in_the_path(tmp_path):
    directory = tmp_path / "group=7"
    directory.mkdir()
    labelled(directory / "x.seq")
    batch = load_one(str(tmp_path), features="group", require_labels=False)
    assert batch.features.tolist() == [[7]] * 6


def test_texts_are_no_features(tmp_path):
    path = write(tmp_path / "x.seq", [], key="IntWritable", value="Text")
    with pytest.raises(ColumnError, match="column 'value' must hold numbers"):
        open_path(path, features="value", label="key")


def test_columns_must_be_named(tmp_path):
    path = labelled(tmp_path / "x.seq")
    with pytest.raises(OptionError, match=r"features must name .*'key', 'value'"):
        open_path(path)


def test_files_must_be_of_the_same_classes(tmp_path):
    labelled(tmp_path / "a.seq")
    write(tmp_path / "b.seq", [], key="Text", value=DOUBLES)
    last = open_path(str(tmp_path), features="value", label="key").partitions[1]
    with pytest.raises(DataError, match=r"keys and values must be .*IntWritable and"):
        last.load()


def test_a_value_of_another_class_is_refused_with_its_offset(tmp_path):
    path = Path(labelled(tmp_path / "part-00000", 1))
    offset = path.stat().st_size
    path.write_bytes(path.read_bytes() + records([(integer(0), text("a"))]))
    with pytest.raises(CorruptFileError, match=rf"at offset {offset}: value must be a"):
        load_one(str(path), features="value", label="key")


@pytest.mark.parametrize("cut", [3, 40, 100, 150])
def test_a_file_that_is_cut_short_is_refused(tmp_path, cut):
    path = Path(labelled(tmp_path / "part-00000"))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(CorruptFileError, match=r"part-00000: .* offset \d+"):
        load_one(str(path), features="value", label="key")
