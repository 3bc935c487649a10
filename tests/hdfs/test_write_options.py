"""Replication and block size, as the NameNode has them."""

import uuid

import numpy as np
import pytest

from daskdl.data.files import write_output
from daskdl.data.sinks import open_sink
from daskdl.errors import OptionError
from daskdl_bridge.hdfs import connect
from daskdl_bridge.storage import filesystem
from tests.hdfs.conftest import web_server

OPTIONS = {"replication": 2, "block_size": 2 << 20}


def status_of(hdfs, path):
    """Return replication and block size that the NameNode tells."""
    status = connect(hdfs.uri, {}).client.get_file_info(path)
    return status.replication, status.blocksize


@pytest.fixture(params=["hdfs", "webhdfs", "gateway"])
def url(hdfs, request):
    """What is not there yet, by each way to HDFS."""
    name = f"options-{uuid.uuid4().hex}"
    if request.param == "gateway":
        return f"{request.getfixturevalue('gateway')}/{name}"
    root = hdfs.uri if request.param == "hdfs" else web_server(hdfs)
    return f"{root}/{name}"


def test_a_file_has_what_was_asked_for(hdfs, url, rng):
    content = rng.bytes(3 << 20)
    write_output(url, lambda out: out.write(content), storage_options=OPTIONS)
    fs, path = filesystem(url)
    assert fs.cat_file(path) == content
    assert status_of(hdfs, path) == (2, 2 << 20)


def test_parts_have_what_was_asked_for(hdfs, url):
    sink = open_sink(url, storage_options=OPTIONS)
    sink.prepare()
    (part,) = sink.commit([sink.write_part(0, {"prediction": np.arange(3.0)})])
    _, path = filesystem(part)
    assert status_of(hdfs, path) == (2, 2 << 20)


@pytest.mark.parametrize(
    "options", [{"replication": 600}, {"block_size": 512}], ids=["copies", "block"]
)
def test_what_the_namenode_does_not_allow_is_told_at_once(hdfs, options):
    """It allows 512 copies, and blocks of 4 KiB here."""
    url = f"{hdfs.uri}/options-{uuid.uuid4().hex}"
    with pytest.raises(OptionError, match=r"hdfs://.*options-.*what HDFS allows"):
        write_output(url, lambda out: out.write(b"digits"), storage_options=options)
