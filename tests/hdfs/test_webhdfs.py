"""A real HDFS over HTTP: read, written, refused, frozen, without a DataNode.

By a NameNode's server, and by HttpFS.
"""

import uuid

import numpy as np
import pytest

from daskdl.data.files import write_output
from daskdl.data.retries import with_retries
from daskdl.data.sinks import open_sink
from daskdl.errors import OutputExistsError, SourceNotFoundError
from daskdl_bridge.errors import (
    StoragePermissionError,
    StorageTimeoutError,
    StorageUnreachableError,
)
from daskdl_bridge.listing import list_parts
from daskdl_bridge.storage import filesystem
from tests.hdfs.conftest import web_server
from tests.unit.bridge.sample_forms import path_of
from tests.unit.bridge.table_files import open_path


@pytest.fixture(params=["namenode", "gateway"])
def url(hdfs, request):
    """A directory that is not there yet."""
    by_gateway = request.param == "gateway"
    root = request.getfixturevalue("gateway") if by_gateway else web_server(hdfs)
    return f"{root}/web-{uuid.uuid4().hex}"


def put(form, url):
    fs, path = filesystem(f"{url}/{form}")
    fs.put(path_of(form), path, recursive=True)
    return f"{url}/{form}"


@pytest.mark.parametrize("form", ["parquet_vector_mixed", "json"])
def test_files_of_spark_are_read_as_from_a_local_disk(url, form):
    remote = open_path(put(form, url), n_classes=10, key="id")
    local = open_path(path_of(form), n_classes=10, key="id")
    for ours, theirs in zip(remote.partitions, local.partitions, strict=True):
        assert ours.name.startswith("webhdfs://")
        np.testing.assert_array_equal(ours.load().features, theirs.load().features)


def test_a_file_of_many_pieces_is_what_was_written(url, rng):
    content = rng.bytes(12 << 20)
    write_output(f"{url}/a#b?c d", lambda stream: stream.write(content))
    fs, path = filesystem(f"{url}/a#b?c d")
    assert fs.cat_file(path) == content
    assert fs.cat_file(path, start=5, end=9) == content[5:9]


def test_a_file_is_replaced_only_on_request(url):
    for content, overwrite in ((b"old", False), (b"new", True)):
        write_output(
            f"{url}/x", lambda stream, it=content: stream.write(it), overwrite=overwrite
        )
    with pytest.raises(OutputExistsError, match=r"webhdfs://.*/x: must not exist yet"):
        write_output(f"{url}/x", lambda stream: stream.write(b"third"))
    fs, path = filesystem(f"{url}/x")
    assert fs.cat_file(path) == b"new"
    assert [name.rpartition("/")[2] for name in fs.ls(f"{path}/..")] == ["x"]


def test_a_rename_to_what_is_there_is_refused(url):
    fs, path = filesystem(url)
    fs.makedirs(path)
    fs.pipe_file(f"{path}/a", b"a")
    fs.pipe_file(f"{path}/b", b"b")
    with pytest.raises(FileExistsError, match=r"webhdfs://.*/b: nothing may be there"):
        fs.mv(f"{path}/a", f"{path}/b")
    assert fs.cat_file(f"{path}/b") == b"b"


def test_parts_are_committed(url, rng):
    sink = open_sink(url)
    sink.prepare()
    columns = {"prediction": np.arange(9.0), "probability": rng.random((9, 2))}
    sink.commit([sink.write_part(0, columns)])
    source = open_path(url, features="probability", dtype="float64", label="prediction")
    (partition,) = source.partitions
    np.testing.assert_array_equal(partition.load().features, columns["probability"])


def test_a_missing_path_is_refused_with_the_nearest_name(url):
    put("json", url)
    with pytest.raises(SourceNotFoundError, match=r"Did you mean 'json'\?"):
        list_parts(f"{url}/jsno")


def test_a_missing_permission_is_told(url):
    fs, path = filesystem(url, {"user": "bob"})
    with pytest.raises(StoragePermissionError, match=rf"{url}: no permission to make"):
        fs.makedirs(path)


def test_a_standby_namenode_is_told(hdfs):
    standby = web_server(hdfs, 1 - int(hdfs.command("active")))
    fs, _ = filesystem(standby)
    with pytest.raises(StorageUnreachableError, match=rf"{standby}/: .*are standby"):
        fs.ls("/")


def test_frozen_servers_give_a_time_out(hdfs, url):
    fs, path = filesystem(url)
    fs.makedirs(path)
    # Only while they are frozen: a busy machine may take longer otherwise.
    hurried, _ = filesystem(url, {"timeout_s": 1.0})
    hdfs.command("pause")
    try:
        with pytest.raises(StorageTimeoutError, match=rf"{url}: .*list within 1 s"):
            hurried.ls(path)
    finally:
        hdfs.command("resume")
    assert fs.ls(path) == []


@pytest.mark.timeout(180)
def test_death_of_a_datanode_costs_no_file(hdfs, rng):
    """A NameNode may send to the dead one: the file is written anew.

    Not by a gateway: it writes as a client of Java, which gives a file up where all
    three copies are wanted and two DataNodes are left.
    """
    url = f"{web_server(hdfs)}/web-{uuid.uuid4().hex}"
    content = rng.bytes(6 << 20)
    tries = []

    def write(stream):
        stream.write(content[: 5 << 20])
        stream.flush(force=False)
        if not tries:
            hdfs.command("kill-datanode", "1")
        tries.append(len(content))
        stream.write(content[5 << 20 :])

    try:
        write_output(f"{url}/x", write)
    finally:
        hdfs.command("start-datanode", "1")
    fs, path = filesystem(f"{url}/x")
    # A NameNode may send readers to where the dead one was.
    assert with_retries("reading it", lambda: fs.cat_file(path)) == content


@pytest.mark.timeout(180)
def test_a_gateway_goes_on_with_the_other_namenode(hdfs, gateway, rng):
    content = rng.bytes(2 << 20)
    fs, path = filesystem(f"{gateway}/failover-{uuid.uuid4().hex}")
    fs.pipe_file(path, content)
    hdfs.command("failover")
    assert with_retries("reading it", lambda: fs.cat_file(path)) == content
    with_retries("writing it", lambda: fs.pipe_file(f"{path}-2", content))
    assert fs.cat_file(f"{path}-2") == content
