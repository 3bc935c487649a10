"""XML files: Spark's values, columns, blocks, bombs, and what is refused."""

import gzip
from pathlib import Path

import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, DataError, OptionError
from daskdl_bridge.readers import xml, xml_rows
from daskdl_bridge.source import PathSources
from tests.unit.bridge.damaged_files import check_refused_or_read, damaged_copies
from tests.unit.bridge.sample_forms import SAMPLES
from tests.unit.bridge.table_files import load_one, open_path

XML = str(SAMPLES / "xml")
HOW = {"row_tag": "example", "features": ("x", "a"), "label": "label"}
ROW = "<r><x>%s</x><label>%d</label></r>"
ROWS = {"row_tag": "r", "features": "x", "label": "label"}


def write(path: Path, *rows: str, head: str = "") -> str:
    data = f"{head}<rows>\n{''.join(rows)}</rows>".encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_examples_have_the_values_that_spark_was_given():
    batch = load_one(XML, **HOW, key="_key", n_classes=3)
    assert batch.features.tolist() == [[i / 4, i / 2, i] for i in range(100)]
    assert batch.labels.argmax(axis=1).tolist() == [i % 3 for i in range(100)]
    assert batch.keys.tolist() == [f"k<{i}" for i in range(100)]


def test_what_is_missing_is_null():
    keys = load_one(XML, **HOW, key="y").keys.tolist()
    assert keys == [str(-i) if i % 5 else None for i in range(100)]


def test_columns_and_kinds_are_told():
    assert PathSources().look(XML, SourceOptions(row_tag="example")).columns == {
        "_key": "text",
        "label": "number",
        "x": "number",
        "y": "number",
        "a": "list of number",
        "t": "text",
    }


def test_row_tag_must_be_given():
    with pytest.raises(OptionError, match="row_tag must name the elements that are"):
        open_path(XML, features="x")


def test_a_row_tag_that_is_not_there_is_told_with_those_that_are(tmp_path):
    path = write(tmp_path / "x.xml", ROW % (1, 0))
    with pytest.raises(
        ColumnError,
        match=r"row_tag must name .* got 'R'; there are 'r', 'x', 'label'\. Did .*'r'",
    ):
        open_path(path, **{**ROWS, "row_tag": "R"})


def test_files_without_any_element_within_hold_no_example(tmp_path):
    path = write(tmp_path / "x.xml")
    with pytest.raises(DataError, match="must hold at least one example, got none"):
        open_path(path, **ROWS)


def test_compressed_files_are_read(tmp_path):
    path = write(tmp_path / "x.xml.gz", *(ROW % (i, i % 2) for i in range(5)))
    assert load_one(path, **ROWS).features.tolist() == [[i] for i in range(5)]


def test_blocks_have_each_row_once(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "_ROWS_AT_ONCE", 7)
    path = write(tmp_path / "x.xml", *(ROW % (i, i % 2) for i in range(50)))
    (partition,) = open_path(path, **ROWS).partitions
    blocks = [block.features[:, 0].tolist() for block in partition.load_blocks()]
    assert len(blocks) == 8
    assert [x for block in blocks for x in block] == list(range(50))


def test_files_without_rows_have_none(tmp_path):
    write(tmp_path / "a.xml")
    (tmp_path / "b.xml").write_bytes(b"")
    write(tmp_path / "c.xml", ROW % (1, 1))
    partitions = open_path(str(tmp_path), **ROWS).partitions
    assert [one.load().num_examples for one in partitions] == [0, 0, 1]


def test_the_text_of_a_row_is_a_column(tmp_path):
    path = write(tmp_path / "x.xml", *(f'<r c="{i}"> {i / 2} </r>' for i in range(3)))
    batch = load_one(path, row_tag="r", features="_VALUE", label="_c")
    assert batch.features.tolist() == [[0], [0.5], [1]]
    assert batch.labels.tolist() == [[0], [1], [2]]


def test_rows_within_rows_are_no_rows(tmp_path):
    path = write(tmp_path / "x.xml", "<r><x>1</x><r><x>2</x></r><label>1</label></r>")
    assert load_one(path, **ROWS).features.tolist() == [[1]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (ROW % ("b", 1), "'x' must hold numbers, got 'b' in the row at line 2"),
        (ROW % ("1</x><x>2", 1), "'x' must hold one value .* at line 2 has 2"),
        (ROW % ("<y>1</y>", 1), "'x' must hold text or .* line 2 it holds elements"),
    ],
)
def test_cells_that_do_not_fit_are_refused(tmp_path, monkeypatch, row, message):
    monkeypatch.setattr(xml, "_SAMPLED_ROWS", 1)
    path = write(tmp_path / "x.xml", ROW % (1, 1), row)
    with pytest.raises(ColumnError, match=message):
        load_one(path, **ROWS)


def test_entities_are_refused(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    path = write(tmp_path / "x.xml", ROW % ("&b;", 1), head=bomb)
    with pytest.raises(DataError, match="must declare no entities, it declares 'a'"):
        load_one(path, **ROWS)


@pytest.mark.parametrize("encoding", ["UTk-8", "shift_jis"])
def test_unknown_encodings_are_refused(tmp_path, encoding):
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    path = write(tmp_path / "x.xml", ROW % (1, 1), head=head)
    with pytest.raises(CorruptFileError, match="must be a whole XML file, it is cut"):
        load_one(path, **ROWS)


def test_deep_files_are_refused(tmp_path):
    path = write(tmp_path / "x.xml", "<a>" * 5000)
    with pytest.raises(CorruptFileError, match="must be nested 1000 levels at most"):
        load_one(path, **ROWS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("<r>" + "<x>1</x>" * 5000, "a row must have 100000 bytes at most"),
        ("<r " + "x" * 300_000, "a tag must have 100000 bytes at most"),
    ],
)
def test_what_takes_too_much_is_refused(tmp_path, monkeypatch, row, message):
    monkeypatch.setattr(xml_rows, "_MOST_BYTES", 100_000)
    path = write(tmp_path / "x.xml", row)
    with pytest.raises(CorruptFileError, match=message):
        load_one(path, **ROWS)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_corrupt(tmp_path, share):
    (stored,) = Path(XML).glob("part-*")
    data = stored.read_bytes()
    (tmp_path / stored.name).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(CorruptFileError, match="cut short or damaged"):
        load_one(str(tmp_path / stored.name), **HOW)


def test_damage_is_refused_or_read(tmp_path, rng):
    (stored,) = Path(XML).glob("part-*")
    for data in damaged_copies(stored.read_bytes()[:3000], rng, 300):
        check_refused_or_read(tmp_path / "x.xml", data, **HOW)
