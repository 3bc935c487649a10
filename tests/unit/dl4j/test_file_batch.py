"""Several files in one zip, as DL4J bundles them."""

import io
import zipfile

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.errors import (
    CorruptFileError,
    OptionError,
    OutputExistsError,
    SourceNotFoundError,
)
from tests.unit.dl4j.golden import file_batch_bytes

GOLDEN = ("filebatch_csv", "filebatch_binary", "filebatch_datasets")


def read(raw, **bounds):
    return FileBatch.read_from(io.BytesIO(raw), name="a.zip", **bounds)


def written(batch):
    stream = io.BytesIO()
    batch.write_to(stream)
    return stream.getvalue()


def entries(raw):
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return stream.getvalue()


def small():
    return DataSet(np.array([[1.0, 2.0]], np.float32), np.array([[1.0]], np.float32))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_entries_of_dl4js_files_are_written_again(name):
    raw = file_batch_bytes(name)
    assert list(entries(written(read(raw))).items()) == list(entries(raw).items())


def test_uris_are_kept_with_what_they_name():
    batch = read(file_batch_bytes("filebatch_csv"))
    assert len(batch) == 4
    assert batch.original_uris[1] == "hdfs://namenode:8020/data/class1/part_1.csv"
    assert len(batch.file_bytes[1]) == 23


def test_the_same_files_give_the_same_bytes():
    batch = read(file_batch_bytes("filebatch_csv"))
    assert written(batch) == written(batch)


@pytest.mark.parametrize(
    ("uri", "entry"),
    [
        ("/data.d/x", "file_0.bin"),
        ("C:\\data.d\\x", "file_0.bin"),
        ("x.", "file_0.bin"),
        ("x.tar.gz", "file_0.gz"),
        ("a.b/img 1.PNG", "file_0.PNG"),
    ],
)
def test_the_ending_of_an_entry_is_that_of_its_uri(uri, entry):
    assert entry in entries(written(FileBatch((b"",), (uri,))))


def test_files_are_bundled_with_where_they_came_from(tmp_path):
    paths = [tmp_path / "a b.csv", f"file://{tmp_path}/c.csv"]
    (tmp_path / "a b.csv").write_bytes(b"1")
    (tmp_path / "c.csv").write_bytes(b"2")
    batch = FileBatch.for_files(paths)
    assert batch.file_bytes == (b"1", b"2")
    uris = (f"file:{tmp_path}/a%20b.csv", f"file://{tmp_path}/c.csv")
    assert batch.original_uris == uris


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"none\.csv: must be a file"):
        FileBatch.for_files([tmp_path / "none.csv"])


def test_a_zip_is_written_and_read_by_path(tmp_path):
    batch = FileBatch([b"1", b""], ["a", "b"])
    batch.write_as_zip(tmp_path / "batch.zip")
    assert FileBatch.read_from_zip(f"file://{tmp_path}/batch.zip") == batch
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        batch.write_as_zip(tmp_path / "batch.zip")


def test_no_files_at_all_come_back():
    assert read(written(FileBatch((), ()))) == FileBatch((), ())


def test_data_sets_of_both_kinds_come_out():
    multi = MultiDataSet([small().features], [small().labels])
    streams = io.BytesIO(), io.BytesIO()
    small().write_to(streams[0])
    multi.write_to(streams[1])
    batch = FileBatch([s.getvalue() for s in streams], ["a.bin", "b.bin"])
    first, second = batch.datasets()
    assert isinstance(first, DataSet)
    assert isinstance(second, MultiDataSet)
    np.testing.assert_array_equal(second.features[0], first.features)


def test_a_file_that_is_no_data_set_is_named_by_its_uri():
    batch = FileBatch([b"1,2\n"], ["/data/x.csv"])
    with pytest.raises(CorruptFileError, match=r"^/data/x\.csv: .* at offset"):
        list(batch.datasets())


@pytest.mark.parametrize(
    ("uris", "message"),
    [
        (["a", "b"], "one entry for each of 1 files, got 2"),
        (["a\nb"], r"must hold no line break, got 'a\\nb'"),
    ],
)
def test_uris_that_do_not_go_with_the_files_are_refused(uris, message):
    with pytest.raises(OptionError, match=message):
        FileBatch([b""], uris)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"file_0__bin": b""}, "must have an entry 'originalUris.txt', got 'file_0"),
        (
            {"originalUris__txt": b"a\nb", "file_0__bin": b""},
            "must name each of 1 files, got 2 lines",
        ),
        ({"originalUris__txt": b"\xff", "file_0__bin": b""}, "must be UTF-8 text, got"),
        ({"originalUris__txt": b"a", "file_1__bin": b""}, "numbered from 0, got 1 up"),
        ({"originalUris__txt": b"a", "file_x__bin": b""}, "number each, got 'file_x.b"),
        (
            {"originalUris__txt": b"a\nb", "file_0__bin": b"", "file_00__csv": b""},
            "number each, got 'file_00.csv'",
        ),
    ],
)
def test_a_zip_that_is_no_file_batch_is_refused(files, message):
    with pytest.raises(CorruptFileError, match=rf"^a\.zip: .*{message}"):
        read(zipped(**files))


def test_a_bomb_is_refused():
    raw = zipped(originalUris__txt=b"a", file_0__bin=b"\0" * 100_000)
    with pytest.raises(CorruptFileError, match="at most 50000 bytes together"):
        read(raw, most_bytes=50_000)
