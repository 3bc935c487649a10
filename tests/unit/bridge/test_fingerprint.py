"""A part that was rewritten after it was listed is refused when it is read."""

import dataclasses
import os
import pickle
import socket

import fsspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.dataset import DataSet
from daskdl.data.fingerprint import Fingerprint, modified
from daskdl.data.plan import plan_minibatches
from daskdl.data.reader import MinibatchReader
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.errors import ChangedFileError, CorruptFileError, SourceNotFoundError
from tests.unit.bridge.table_files import open_path

COLUMNS = {"features": "a", "label": "label"}


def write_csv(path, rows):
    path.write_text("a,label\n" + "".join(f"{row},0\n" for row in rows))


def write_json(path, rows):
    path.write_text("".join(f'{{"a": {row}, "label": 0}}\n' for row in rows))


def write_libsvm(path, rows):
    path.write_text("".join(f"0 1:{row}\n" for row in rows))


def table(rows):
    return pa.table({"a": [float(row) for row in rows], "label": [0] * len(rows)})


def write_parquet(path, rows):
    pq.write_table(table(rows), path)


def write_orc(path, rows):
    orc.write_table(table(rows), str(path))


def write_dl4j(path, rows):
    features = [[float(row)] for row in rows]
    DataSet(features, features).save(path, overwrite=True)


WRITERS = {
    "csv": write_csv,
    "json": write_json,
    "libsvm": write_libsvm,
    "parquet": write_parquet,
    "orc": write_orc,
    "bin": write_dl4j,
}


def listed(path):
    options = {} if path.suffix == ".bin" else COLUMNS
    if path.suffix == ".libsvm":
        options = {}
    (partition,) = open_path(str(path), **options).partitions
    return pickle.loads(pickle.dumps(partition))


@pytest.mark.parametrize("rows", [[1, 2, 3, 4], [9, 9, 9], [1, 2]])
@pytest.mark.parametrize("form", WRITERS)
def test_rewritten_part_is_refused(tmp_path, form, rows):
    """Also with as many rows, or more, of which the plan would not tell."""
    path = tmp_path / f"x.{form}"
    WRITERS[form](path, [1, 2, 3])
    partition = listed(path)
    assert partition.load().num_examples == 3
    before = path.stat().st_mtime_ns
    WRITERS[form](path, rows)
    if path.stat().st_mtime_ns == before:
        os.utime(path, ns=(before + 10**7, before + 10**7))
    with pytest.raises(ChangedFileError, match=rf"x\.{form}: must stay .* rewritten: "):
        partition.load()


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_footer_tells_where_size_and_time_do_not(tmp_path, form):
    path = tmp_path / f"x.{form}"
    WRITERS[form](path, [1, 2, 3])
    partition, stat = listed(path), path.stat()
    WRITERS[form](path, [1, 2, 4])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    with pytest.raises(ChangedFileError, match="rewritten: its footer is another"):
        partition.load()


def test_part_that_is_damaged_by_being_rewritten_is_called_rewritten(tmp_path):
    path = tmp_path / "x.parquet"
    write_parquet(path, [1, 2, 3])
    partition = listed(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ChangedFileError, match=r"its size is 100 bytes after \d+"):
        partition.load()


def test_damage_that_was_there_before_is_called_damage(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": 1, "label": 0}\n' * 2000 + "{\n")
    with pytest.raises(CorruptFileError, match="whole JSON object"):
        listed(path).load()


def test_part_that_went_away_is_called_gone(tmp_path):
    path = tmp_path / "x.csv"
    write_csv(path, [1])
    partition = listed(path)
    path.unlink()
    with pytest.raises(SourceNotFoundError, match=r"x\.csv: the path must exist"):
        partition.load()


def test_part_in_memory_is_refused_too():
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/fingerprints/x.csv", b"a,label\n1,0\n")
    try:
        (partition,) = open_path("memory://fingerprints/x.csv", **COLUMNS).partitions
        fs.pipe_file("/fingerprints/x.csv", b"a,label\n2,0\n")
        with pytest.raises(ChangedFileError, match="modification time is another"):
            partition.load()
    finally:
        fs.rm("/fingerprints", recursive=True)


def test_zip_of_minibatches_is_refused_too(tmp_path):
    path = tmp_path / "x.zip"
    files = []
    for number in range(2):
        files.append(tmp_path / f"{number}.bin")
        write_dl4j(files[-1], [number])
    FileBatch.for_files([str(file) for file in files]).write_as_zip(path)
    partition = open_path(str(path)).partitions[0]
    os.utime(path, (1, 1))
    with pytest.raises(ChangedFileError, match=r"x\.zip: must stay"):
        partition.load()


def test_rewritten_part_is_noticed_when_it_is_read_again(tmp_path):
    for name in ("a.csv", "b.csv"):
        write_csv(tmp_path / name, [1, 2, 3])
    partitions = open_path(str(tmp_path), **COLUMNS).partitions
    reader = MinibatchReader(partitions, cache_bytes=0)
    first, second = plan_minibatches([3, 3], 3)
    reader.read(first), reader.read(second)
    write_csv(tmp_path / "a.csv", [7, 8, 9, 10])
    with pytest.raises(ChangedFileError, match=r"a\.csv: must stay as it was"):
        reader.read(first)


@pytest.mark.parametrize("entry", [{"mtime": 1.7e9}, {"modification_time": 1.7e12}])
def test_times_are_in_seconds_whatever_a_store_tells(entry):
    """HDFS tells milliseconds."""
    assert modified(entry) == 1.7e9


SEEN = Fingerprint(size=1, modified=5.25, tag="x", host="here", tail="t")


@pytest.mark.parametrize(
    ("now", "n_changes"),
    [
        ({}, 0),
        ({"size": 2}, 1),
        ({"modified": 6.0}, 1),
        ({"tag": "y", "tail": "u"}, 2),
        ({"modified": 5.0}, 0),
        ({"modified": 5.5}, 1),
        ({"modified": None, "tag": None, "tail": None}, 0),
        ({"modified": 9.0, "host": "elsewhere"}, 0),
        ({"modified": 9.0, "host": "elsewhere", "size": 3}, 1),
    ],
)
def test_what_counts_as_a_change(now, n_changes):
    """Whole seconds are as good as fractions; a copy elsewhere has its own time."""
    assert len(SEEN.changes(dataclasses.replace(SEEN, **now))) == n_changes


@pytest.mark.parametrize(
    ("listed", "is_read_again"),
    [
        ({}, False),
        ({"host": "elsewhere"}, False),
        ({"tag": None}, False),
        ({"tag": None, "host": None}, False),
        ({"tag": None, "host": "elsewhere"}, True),
        ({"tag": None, "modified": 5.0}, True),
        ({"tag": None, "modified": None}, True),
    ],
)
def test_the_end_is_read_again_where_nothing_else_tells(listed, is_read_again):
    seen = dataclasses.replace(SEEN, **{"host": socket.gethostname(), **listed})
    assert (seen.without_tail().tail is not None) is is_read_again


def test_what_is_rewritten_between_two_blocks_is_refused(tmp_path):
    path = tmp_path / "x.json"
    n_rows = BLOCK_BYTES // 16
    write_json(path, range(n_rows))
    blocks = listed(path).load_blocks()
    next(blocks)
    write_json(path, range(n_rows + 1))
    with pytest.raises(ChangedFileError, match="its size is"):
        next(blocks)
