"""What a real NameNode refuses, by kind."""

import uuid

import pytest

from daskdl.data.files import write_output
from daskdl.errors import OutputError
from daskdl_bridge.errors import (
    StorageConflictError,
    StorageQuotaError,
    StorageUnreachableError,
)
from daskdl_bridge.storage import filesystem
from tests.hdfs.conftest import run_java


@pytest.fixture
def directory(hdfs):
    """File system, path and URL of a new directory."""
    url = f"{hdfs.uri}/refusals-{uuid.uuid4().hex}"
    fs, path = filesystem(url)
    fs.makedirs(path)
    return fs, path, url


@pytest.mark.parametrize(
    ("command", "amount"),
    [("-setQuota", "1"), ("-setSpaceQuota", "1024")],
    ids=["names", "space"],
)
def test_a_used_up_quota_is_told_at_once(hdfs, directory, command, amount):
    fs, path, url = directory
    run_java(hdfs.conf_dir, "DFSAdmin", command, amount, path)
    with pytest.raises(StorageQuotaError, match=rf"{path}/x: no quota is left to"):
        fs.pipe_file(f"{path}/x", b"digits")
    with pytest.raises(OutputError, match=r"no quota is left") as caught:
        write_output(f"{url}/y", lambda stream: stream.write(b"digits"))
    assert isinstance(caught.value.__cause__, StorageQuotaError)


def test_a_file_that_another_client_writes_is_told(directory):
    fs, path, url = directory
    other, _ = filesystem(url, {"timeout_s": 58.0})
    with fs.open(f"{path}/x", "wb") as stream:
        stream.write(b"digits")
        with pytest.raises(StorageConflictError, match=rf"{path}/x: .*no other client"):
            other.open(f"{path}/x", "ab")


def test_a_file_above_is_told(directory):
    fs, path, _ = directory
    fs.pipe_file(f"{path}/x", b"digits")
    with pytest.raises(NotADirectoryError, match=r"a directory must be above it"):
        fs.makedirs(f"{path}/x/y")


# hdfs-native tries for a minute.
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_no_active_namenode_is_told(hdfs, directory):
    _, _, url = directory
    active = int(hdfs.command("active"))
    fs, path = filesystem(url, {"timeout_s": 120.0})
    run_java(hdfs.conf_dir, "DFSHAAdmin", "-transitionToStandby", f"nn{active + 1}")
    try:
        with pytest.raises(StorageUnreachableError, match=r"all are standby"):
            fs.ls(path)
    finally:
        run_java(hdfs.conf_dir, "DFSHAAdmin", "-transitionToActive", f"nn{active + 1}")
    assert fs.ls(path) == []
