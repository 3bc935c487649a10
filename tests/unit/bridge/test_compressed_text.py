"""Lines that Hadoop's codecs compressed: what they hold, by blocks, and damage."""

import bz2
import gzip
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers import line_ranges
from daskdl_bridge.readers import lines as line_module
from tests.unit.bridge.damaged_files import check_refused_or_read, damaged_copies
from tests.unit.bridge.sample_forms import SAMPLES
from tests.unit.bridge.table_files import load_one, open_path
from tests.unit.bridge.test_hadoop_codecs import framed

TEXT = SAMPLES / "compressed_text"
CODECS = ["snappy", "deflate", "lz4"]
COLUMNS = {"features": ("p0", "p1"), "label": "label", "n_classes": 3}
FORMS = {
    "csv": {**COLUMNS, "format": "csv"},
    "json": {**COLUMNS, "format": "json"},
    "libsvm": {"format": "libsvm", "n_classes": 3},
}
COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".deflate": zlib.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    ".snappy": lambda data: framed("snappy", [data[:9], data[9:]]),
    ".lz4": lambda data: framed("lz4_raw", [data[:9]], [data[9:]]),
}


def lines(n_rows: int) -> bytes:
    return b"label,a\n" + b"".join(b"%d,%d\n" % (i % 3, i) for i in range(n_rows))


def compressed(path: Path, data: bytes) -> str:
    path.write_bytes(COMPRESS[path.suffix](data))
    return str(path)


@pytest.fixture
def in_blocks(monkeypatch):
    monkeypatch.setattr(line_ranges, "_RANGE_BYTES", 500)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("form", FORMS)
def test_examples_have_the_values_that_spark_was_given(form, codec):
    batch = load_one(str(TEXT / f"{form}_{codec}"), **FORMS[form])
    assert batch.features.tolist() == [[i / 4, -i] for i in range(500)]
    assert batch.labels.argmax(axis=1).tolist() == [i % 3 for i in range(500)]


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("codec", CODECS)
def test_the_form_is_known_by_the_name(form, codec):
    how = {key: value for key, value in FORMS[form].items() if key != "format"}
    assert load_one(str(TEXT / f"{form}_{codec}"), **how).num_examples == 500


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("codec", CODECS)
def test_blocks_have_the_same_rows(form, codec, in_blocks):
    (partition,) = open_path(str(TEXT / f"{form}_{codec}"), **FORMS[form]).partitions
    blocks = list(partition.load_blocks())
    assert len(blocks) > 5
    rows = [row for block in blocks for row in block.features.tolist()]
    assert rows == [[i / 4, -i] for i in range(500)]


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("n_bytes", [1, 7, 500, 1 << 20])
def test_blocks_end_at_line_ends(tmp_path, monkeypatch, ending, end, n_bytes):
    monkeypatch.setattr(line_ranges, "_RANGE_BYTES", n_bytes)
    data = b"\xef\xbb\xbf" + lines(300).replace(b"\n", end)
    path = compressed(tmp_path / f"x.csv{ending}", data.removesuffix(end))
    batch = load_one(path, features="a", label="label")
    assert batch.features[:, 0].tolist() == list(range(300))


def test_errors_of_later_blocks_name_the_row(tmp_path, in_blocks):
    path = compressed(tmp_path / "x.csv.lz4", lines(400) + b"1,x\n")
    with pytest.raises(DataError, match=r"x\.csv\.lz4: .*got 'x' in row 400\."):
        load_one(path, features="a", label="label")


def test_a_file_without_lines_has_no_rows(tmp_path):
    path = compressed(tmp_path / "b.csv.zst", b"label,a\n")
    assert load_one(path, features="a", label="label").num_examples == 0


def test_the_width_of_libsvm_is_that_of_all_blocks(tmp_path, in_blocks):
    rows = b"".join(b"1 %d:1\n" % i for i in range(1, 301))
    batch = load_one(compressed(tmp_path / "x.libsvm.snappy", rows))
    assert batch.features.shape == (300, 300)


def test_a_damaged_line_of_libsvm_is_named_by_its_row(tmp_path, in_blocks):
    path = compressed(tmp_path / "x.libsvm.gz", b"1 1:1\n" * 300 + b"1 x\n")
    with pytest.raises(CorruptFileError, match=r"row 300 is '1 x'"):
        open_path(path)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_corrupt(tmp_path, codec, share):
    (stored,) = (TEXT / f"csv_{codec}").glob("part-*")
    path = tmp_path / stored.name
    path.write_bytes(stored.read_bytes()[: int(stored.stat().st_size * share)])
    with pytest.raises(CorruptFileError, match=path.name):
        load_one(str(path), **FORMS["csv"])


def test_a_file_that_is_cut_between_frames_is_corrupt(tmp_path):
    path = tmp_path / "part-00000.csv.snappy"
    path.write_bytes(framed("snappy", [b"label,a\n1,2\n1,"]))
    with pytest.raises(CorruptFileError, match=r"cut short at offset 14\."):
        load_one(str(path), features="a", label="label")


@pytest.mark.parametrize("head_bytes", [100, 1 << 20])
def test_a_line_without_an_end_is_not_held(
    tmp_path, monkeypatch, in_blocks, head_bytes
):
    monkeypatch.setattr(line_module, "_HEAD_BYTES", head_bytes)
    monkeypatch.setattr(line_module, "_STEP_BYTES", 100)
    monkeypatch.setattr(line_module, "_MOST_LINE_BYTES", 10_000)
    path = compressed(tmp_path / "x.csv.deflate", lines(3) + b"1" * 1_000_000)
    with pytest.raises(CorruptFileError, match=r"no line end in \d\d\d\d\d bytes"):
        load_one(path, features="a", label="label")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_bomb_that_is_read_as_a_whole_is_not_held(tmp_path, monkeypatch, form):
    monkeypatch.setattr(line_module, "_MOST_LINE_BYTES", 10_000)
    path = compressed(tmp_path / f"x.{form}.gz", b"label,a\n" + b"1,2\n" * 1_000_000)
    with pytest.raises(CorruptFileError, match=r"holds more than \d+ bytes"):
        load_one(path, features="a", label="label", multi_line=True)


@pytest.mark.parametrize("ending", COMPRESS)
def test_damage_is_refused_or_read(tmp_path, rng, ending):
    path = tmp_path / f"x.csv{ending}"
    for data in damaged_copies(COMPRESS[ending](lines(200)), rng, 200):
        check_refused_or_read(path, data, features="a", label="label", header=True)
