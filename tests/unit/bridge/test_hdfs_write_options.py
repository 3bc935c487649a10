"""Replication and block size: refused before anything is written."""

import pytest

from daskdl.errors import OptionError
from daskdl_bridge.hdfs_write_options import HdfsWriteOptions, write_options_from


def test_numbers_may_come_as_text():
    assert write_options_from("2", 1 << 20) == HdfsWriteOptions(
        replication=2, block_size=1 << 20
    )


def test_nothing_given_is_left_to_the_cluster():
    assert write_options_from(None, None) == HdfsWriteOptions()


@pytest.mark.parametrize(
    ("replication", "block_size", "message"),
    [
        (0, None, "replication must be > 0, got 0"),
        (None, -512, "block_size must be > 0, got -512"),
        (None, 1000, "block_size must be a multiple of 512, got 1000"),
        ("two", None, "replication must be a whole number, got 'two'"),
        (1.5, None, "replication must be a whole number, got 1.5"),
    ],
)
def test_what_is_not_possible_is_refused(replication, block_size, message):
    with pytest.raises(OptionError, match=message):
        write_options_from(replication, block_size)
