"""A real HDFS: what is listed and read, and what happens when it misbehaves."""

import multiprocessing
import os
import uuid
from dataclasses import replace

import numpy as np
import pytest

from daskdl.data.sources.source import open_source
from daskdl.errors import (
    ChangedFileError,
    DataError,
    SourceNotFoundError,
    UnfinishedJobError,
)
from daskdl_bridge.errors import StorageError, StorageTimeoutError
from daskdl_bridge.listing import list_parts
from daskdl_bridge.storage import filesystem, open_input
from tests.unit.bridge.form_rows import AS_EXAMPLES, AS_PAIRS, options_of
from tests.unit.bridge.sample_forms import FORMS, path_of
from tests.unit.bridge.table_files import open_path


@pytest.fixture
def directory(hdfs):
    """A new directory of HDFS, with a sample in it that only the first call copies."""
    url = f"{hdfs.uri}/{uuid.uuid4().hex}"
    filesystem(url)[0].makedirs(filesystem(url)[1])
    return url


def put(form, url):
    fs, path = filesystem(f"{url}/{form}")
    fs.put(path_of(form), path, recursive=True)
    return f"{url}/{form}"


def opened(form, path):
    return open_source(path, replace(options_of(form), require_labels=False))


@pytest.mark.parametrize("form", [*AS_EXAMPLES, *AS_PAIRS])
def test_files_of_spark_are_read_as_from_a_local_disk(directory, form):
    remote = opened(form, put(form, directory))
    local = opened(form, path_of(form))
    assert len(remote.partitions) == FORMS[form]["files"]
    for ours, theirs in zip(remote.partitions, local.partitions, strict=True):
        assert ours.name.startswith("hdfs://mini/")
        one, other = ours.load(), theirs.load()
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.keys, other.keys)


def test_globs_and_names_with_odd_characters(directory):
    put("json", directory)
    fs, path = filesystem(directory)
    fs.mv(f"{path}/json", f"{path}/a#b c")
    assert len(list_parts(f"{directory}/a#b c")) == 4
    assert len(list_parts(f"{directory}/a*")) == 4


def test_missing_path_is_refused_with_the_nearest_name(directory):
    put("json", directory)
    with pytest.raises(SourceNotFoundError, match=r"/jsno: .*Did you mean 'json'\?"):
        list_parts(f"{directory}/jsno")


def test_missing_file_is_refused_with_the_nearest_name(directory):
    put("json", directory)
    with pytest.raises(SourceNotFoundError, match=r"Did you mean 'json'\?"):
        open_input(f"{directory}/jsno")


def test_unfinished_job_is_refused(directory):
    with pytest.raises(UnfinishedJobError, match=r"hdfs://mini/.*_temporary"):
        list_parts(put("parquet_unfinished", directory))


@pytest.mark.parametrize("marker", ["_delta_log/0.json", "metadata/v1.metadata.json"])
def test_table_is_refused(directory, marker):
    fs, path = filesystem(directory)
    for name in (marker, "data/day=1/a.csv"):
        fs.makedirs(f"{path}/{name}".rpartition("/")[0], exist_ok=True)
        fs.pipe_file(f"{path}/{name}", b"x\n")
    for url in (directory, f"{directory}/data/day=1", f"{directory}/data/*/*.csv"):
        with pytest.raises(DataError, match="must hold plain files, got"):
            list_parts(url, require_success=False)


def test_rewritten_part_is_refused(directory):
    fs, path = filesystem(f"{directory}/x.csv")
    fs.pipe_file(path, b"a\n1\n")
    options = {"features": "a", "require_labels": False}
    (partition,) = open_path(f"{directory}/x.csv", **options).partitions
    assert partition.load().num_examples == 1
    fs.rm(path)
    fs.pipe_file(path, b"a\n2\n")
    with pytest.raises(ChangedFileError, match="modification time is another"):
        partition.load()


def test_path_without_name_service_goes_to_the_default_one(directory):
    put("json", directory)
    path = directory.removeprefix("hdfs://mini")
    assert len(list_parts(f"hdfs://{path}/json")) == 4


def test_missing_permission_is_a_permission_error(directory, monkeypatch):
    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    # Options that no other test has: clients are kept, with the user they began with.
    fs, path = filesystem(directory, {"timeout_s": 59.0})
    with pytest.raises(PermissionError, match=rf"{directory}/x: no permission to make"):
        fs.makedirs(f"{path}/x")


def test_frozen_servers_give_a_time_out_that_names_the_path(hdfs, directory):
    url = put("json", directory)
    partition = open_path(url).partitions[0]
    # Only those that are frozen: others may take longer on a busy machine.
    hurried = replace(partition.options, storage_options={"timeout_s": 1.0})
    hdfs.command("pause")
    try:
        with pytest.raises(StorageTimeoutError, match=rf"{url}.*within 1 s"):
            list_parts(url, storage_options=hurried.storage_options)
        with pytest.raises(StorageTimeoutError, match=rf"{url}/part-00000.*within 1 s"):
            replace(partition, options=hurried).load()
    finally:
        hdfs.command("resume")
    assert partition.load().num_examples == 50


def test_safe_mode_is_told(hdfs, directory):
    fs, path = filesystem(directory)
    hdfs.command("safemode", "on")
    try:
        with pytest.raises(StorageError, match=r"SafeModeException"):
            fs.makedirs(f"{path}/x")
    finally:
        hdfs.command("safemode", "off")


def test_fail_over_is_not_noticed(hdfs, directory):
    url = put("parquet_vector_mixed", directory)
    hdfs.command("failover")
    batches = [partition.load() for partition in open_path(url).partitions]
    assert sum(batch.num_examples for batch in batches) == 200


def test_nobody_at_the_address_is_told():
    """The client itself tries for about a minute before it says so."""
    with pytest.raises(StorageTimeoutError, match=r"Check that NameNodes .* are up"):
        list_parts("hdfs://127.0.0.1:9/x", storage_options={"timeout_s": 1.0})


def _list_in_child(url, queue):
    try:
        queue.put(str(len(list_parts(url))))
    except (OSError, RuntimeError) as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("method", "expected"), [("fork", "forked after process"), ("spawn", "4")]
)
def test_children_are_refused_if_forked_and_served_if_spawned(
    directory, method, expected
):
    url = put("json", directory)
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    child = context.Process(target=_list_in_child, args=(url, queue))
    child.start()
    assert expected in queue.get()
    child.join()
    assert os.getpid() != child.pid
