"""Minibatches of tasks on a real HDFS, by both of its protocols."""

import numpy as np
import pytest

from daskdl import DataSet
from daskdl.errors import StorageError
from daskdl_bridge import minibatch_output
from daskdl_bridge.minibatch_output import MinibatchOutput
from daskdl_bridge.storage import filesystem
from tests.unit.bridge.table_files import open_path


def begun(url, *numbers, overwrite=False):
    output = MinibatchOutput(url=url, overwrite=overwrite)
    output.prepare()
    sets = [DataSet(np.full((1, 2), n, np.float32), np.ones((1, 1))) for n in numbers]
    return output, [output.write(one) for one in sets]


def numbers_in(url):
    return [int(one.load().features[0, 0]) for one in open_path(url).partitions]


def names_in(url):
    fs, path = filesystem(url)
    return sorted(name.rpartition("/")[2] for name in fs.ls(path, detail=False))


def test_minibatches_are_added_and_replaced(url):
    for numbers, overwrite in (((1, 2), False), ((3,), False)):
        output, names = begun(url, *numbers, overwrite=overwrite)
        output.commit(names)
    assert numbers_in(url) == [1, 2, 3]
    output, names = begun(url, 4, overwrite=True)
    output.commit(names)
    assert numbers_in(url) == [4]
    assert names_in(url) == ["_SUCCESS", "data"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_broke_off_is_undone(url, monkeypatch, overwrite):
    output, names = begun(url, 1, 2)
    output.commit(names)
    output, names = begun(url, 3, 4, overwrite=overwrite)
    move = minibatch_output.move

    def moves_once(fs, source, target):
        move(fs, source, target)
        raise PermissionError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(minibatch_output, "move", moves_once)
        with pytest.raises(PermissionError, match="no more"):
            output.commit(names)
    output.abort()
    assert numbers_in(url) == [1, 2]
    assert names_in(url) == ["_SUCCESS", "data"]


def test_a_task_that_comes_after_the_end_makes_no_directory(url):
    """HDFS makes those of a file that is created."""
    output, _ = begun(url)
    output.abort()
    with pytest.raises(StorageError, match="given up"):
        output.write(DataSet(np.ones((1, 2)), np.ones((1, 1))))
    fs, path = filesystem(url)
    assert not fs.exists(path)
