"""Spark reads and writes a real HDFS through daskdl."""

import uuid

import pytest

from tests.spark.test_data_source import found_by

pytestmark = pytest.mark.timeout(300)


def test_minibatches_are_written_added_to_and_replaced(hdfs, tmp_path):
    """Tasks find the name service as the program does."""
    url = f"{hdfs.uri}/data-source-{uuid.uuid4().hex}"
    assert found_by("rewritten", tmp_path, url) == {
        "written": True,
        "collected": True,
        "added": True,
        "replaced": True,
        "left": ["_SUCCESS", "data"],
    }
