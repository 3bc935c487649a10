"""Results written to a real HDFS, through the death of a DataNode too."""

import uuid

import numpy as np
import pytest

from daskdl import (
    DataSet,
    export_datasets,
    list_paths,
    read_text,
    validate_datasets,
)
from daskdl.data.files import write_output
from daskdl.data.sinks import open_sink
from daskdl.errors import OutputExistsError
from daskdl_bridge.sink import PathSink
from daskdl_bridge.storage import filesystem
from tests.unit.bridge.table_files import open_path


@pytest.fixture
def url(hdfs):
    return f"{hdfs.uri}/out-{uuid.uuid4().hex}"


def columns(rng, n_rows, width=2):
    return {
        "key": np.array([f"k{i}" for i in range(n_rows)], dtype=object),
        "prediction": np.arange(float(n_rows)),
        "probability": rng.random((n_rows, width)),
    }


def load(url):
    source = open_path(
        url, features="probability", label="prediction", key="key", dtype="float64"
    )
    return [partition.load() for partition in source.partitions]


def test_what_was_written_is_read_back(url, rng):
    sink = open_sink(url)
    sink.prepare()
    parts = [columns(rng, 30), columns(rng, 0), columns(rng, 20)]
    paths = sink.commit([sink.write_part(i, part) for i, part in enumerate(parts)])
    assert all(path.startswith(f"{url}/part-") for path in paths)
    for batch, part in zip(load(url), [parts[0], parts[2]], strict=True):
        assert batch.keys.tolist() == part["key"].tolist()
        np.testing.assert_array_equal(batch.features, part["probability"])


def test_exported_minibatches_and_their_list_are_read_back(url, rng):
    """The list has URLs that Hadoop takes, with the NameNode."""
    examples = DataSet(rng.random((5, 2)), rng.random((5, 1)))
    urls = export_datasets([examples], url, batch_size=2)
    assert urls == [f"{url}/data/dataset_{number}.bin" for number in range(3)]
    assert read_text(f"{url}/paths/part-00000").split() == urls
    assert list_paths(f"{url}/data") == urls
    assert validate_datasets(f"{url}/data", features_shape=(-1, 2)).total_valid == 3


def test_nothing_but_parts_and_the_mark_is_left(url, rng):
    sink = open_sink(url)
    sink.prepare()
    (path,) = sink.commit([sink.write_part(0, columns(rng, 3))])
    fs, root = filesystem(url)
    names = sorted(name.rpartition("/")[2] for name in fs.ls(root, detail=False))
    assert names == ["_SUCCESS", path.rpartition("/")[2]]


def test_existing_output_is_refused_or_replaced(url, rng):
    for n_rows in (3, 5):
        sink = open_sink(url, overwrite=n_rows == 5)
        sink.prepare()
        sink.commit([sink.write_part(0, columns(rng, n_rows))])
    assert [batch.num_examples for batch in load(url)] == [5]
    with pytest.raises(OutputExistsError, match=r"hdfs://mini/out"):
        open_sink(url).prepare()


def test_abort_leaves_nothing(url, rng):
    sink = open_sink(url)
    sink.prepare()
    sink.write_part(0, columns(rng, 3))
    sink.abort()
    fs, root = filesystem(url)
    assert not fs.exists(root)


@pytest.fixture
def dying_datanode(hdfs, monkeypatch):
    """Kill a DataNode when the first piece of a file is written; revive it after."""
    from daskdl_bridge.hdfs_client import GuardedWriter

    killed = []
    real_write = GuardedWriter.write

    def write(self, buffer):
        written = real_write(self, buffer)
        if not killed:
            killed.append(self._url)
            hdfs.command("kill-datanode", "1")
        return written

    monkeypatch.setattr(GuardedWriter, "write", write)
    yield killed
    hdfs.command("start-datanode", "1")


@pytest.mark.timeout(180)
def test_death_of_a_datanode_in_mid_write_is_survived(url, rng, dying_datanode):
    """Twelve MB are many blocks: the writer breaks, the whole file is written anew."""
    sink = PathSink(url=url)
    sink.prepare()
    part = columns(rng, 15_000, width=100)
    sink.commit([sink.write_part(0, part)])
    assert len(dying_datanode) == 1
    (batch,) = load(url)
    np.testing.assert_array_equal(batch.features, part["probability"])


@pytest.mark.timeout(180)
def test_death_of_a_datanode_costs_no_model(url, rng, dying_datanode):
    """As above, for what is no part of an output: models, checkpoints, evaluations."""
    content = rng.bytes(5 << 20)
    write_output(f"{url}/model", lambda out: out.write(content))
    fs, path = filesystem(url)
    assert len(dying_datanode) == 1
    assert fs.cat_file(f"{path}/model") == content
    assert [name.rpartition("/")[2] for name in fs.ls(path, detail=False)] == ["model"]
