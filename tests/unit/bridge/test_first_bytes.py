"""Files whose names tell nothing: what their first bytes do, and what they do not."""

import bz2
import gzip
import shutil

import pyarrow as pa
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.listing import list_parts
from daskdl_bridge.readers.formats import format_of
from tests.unit.bridge.sample_forms import SAMPLES, first_file
from tests.unit.bridge.test_compressed_text import COMPRESS
from tests.unit.bridge.test_tfrecord import SAMPLE as TFRECORD

LIBSVM = b"1 3:0.5 7:-1e-3\n-1 1:2 # why\n"
JSON = b'{"a": 1}\n\n{"a": 2}\n'
XML = b'<?xml version="1.0"?>\n<a/>\n'


def found(path, **options):
    options = SourceOptions(**options)
    return format_of(list_parts(str(path)), options)


def written(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("parquet_vector_dense", "parquet"),
        ("parquet_empty", "parquet"),
        ("orc", "orc"),
        ("avro/deflate", "avro"),
        ("avro/image", "avro"),
        ("sequence", "sequence_file"),
        ("json", "json"),
        ("libsvm", "libsvm"),
        ("xml", "xml"),
    ],
)
def test_files_of_spark_are_known_without_their_names(tmp_path, form, expected):
    stored = min(p for p in (SAMPLES / form).rglob("part-*") if p.is_file())
    shutil.copyfile(stored, tmp_path / "part-00000")
    assert found(tmp_path / "part-00000") == expected


@pytest.mark.parametrize("codec", ["snappy", "deflate", "lz4"])
def test_compressed_text_of_an_rdd_is_known(codec):
    assert found(SAMPLES / "compressed_text" / f"libsvm_{codec}") == "libsvm"


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize(
    ("data", "expected"), [(LIBSVM, "libsvm"), (JSON, "json"), (XML, "xml")]
)
def test_text_is_known_behind_its_codec(tmp_path, ending, data, expected):
    path = written(tmp_path / f"part-00000{ending}", COMPRESS[ending](data))
    assert found(path) == expected


@pytest.mark.parametrize("name", ["part-00000", "x.gz"])
def test_tfrecord_is_known(tmp_path, name):
    data = TFRECORD.read_bytes()
    data = gzip.compress(data) if name.endswith("gz") else data
    assert found(written(tmp_path / name, data)) == "tfrecord"


def test_the_first_file_that_is_not_empty_tells(tmp_path):
    written(tmp_path / "part-00000", b"")
    written(tmp_path / "part-00001", LIBSVM)
    (tmp_path / "_SUCCESS").touch()
    assert found(tmp_path) == "libsvm"


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,2\n",
        b"1 2 3\n",
        b"1 1:2\n1,1\n",
        b'{"a": 1}\nx\n',
        b'"a"\n',
        b"[1]\n",
        b"PAR1,b\n1,2\n",
        b"ORC,b\n1,2\n",
        b"SEQ,b\n1,2\n",
        b"[" * 70_000,
        # What would be tried in every way to cut a number in two.
        b"1" * 65_000 + b"x",
        b"1 1:" + b"1" * 65_000 + b"x",
    ],
)
def test_text_that_may_be_csv_asks_for_the_format(tmp_path, data):
    path = written(tmp_path / "part-00000", data)
    with pytest.raises(DataError, match=r"It is text: give format='csv', or what it"):
        found(path)


@pytest.mark.parametrize("data", [b"", b"\0\1\2", b"PAR\0", b"\0" * 20])
def test_bytes_that_tell_nothing_ask_for_the_format(tmp_path, data):
    path = written(tmp_path / "part-00000", data)
    with pytest.raises(DataError, match=r"Give format='parquet' or what it is"):
        found(path)


@pytest.mark.parametrize("name", ["gz", "snappy", "xz"])
def test_a_name_without_a_dot_has_no_ending(tmp_path, name):
    assert found(written(tmp_path / name, LIBSVM)) == "libsvm"


@pytest.mark.parametrize(
    ("compress", "ending"),
    [
        (gzip.compress, r"\.gz"),
        (bz2.compress, r"\.bz2"),
        (lambda data: pa.Codec("zstd").compress(data, asbytes=True), r"\.zst"),
    ],
)
def test_a_compressed_file_must_be_named_so(tmp_path, compress, ending):
    path = written(tmp_path / "part-00000", compress(b"a\0" + LIBSVM))
    with pytest.raises(DataError, match=f"must end in its codec, here {ending}, got"):
        found(path)


def test_other_forms_are_not_compressed_as_a_whole(tmp_path):
    data = first_file("parquet_vector_dense").read_bytes()
    path = written(tmp_path / "part-00000.gz", gzip.compress(data))
    with pytest.raises(DataError, match=r"Give format='parquet' or what it is"):
        found(path)


def test_damage_is_told(tmp_path):
    path = written(tmp_path / "part-00000.gz", b"\x1f\x8bxyz")
    with pytest.raises(CorruptFileError, match=r"part-00000\.gz: must be a whole data"):
        found(path)
