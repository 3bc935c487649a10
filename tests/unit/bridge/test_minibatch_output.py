"""Minibatches of many tasks, which appear all at once beside or instead of others."""

import pickle

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import (
    OutputExistsError,
    StorageError,
    UnfinishedJobError,
    UnfinishedOutputError,
)
from daskdl_bridge import minibatch_output
from daskdl_bridge.minibatch_output import MinibatchOutput


@pytest.fixture(params=["local", "memory"])
def url(request, tmp_path):
    return f"{tmp_path}/out" if request.param == "local" else "memory://minibatches"


def minibatch(number):
    return DataSet(np.full((2, 3), number, np.float32), np.zeros((2, 1), np.float32))


def begun(url, *numbers, overwrite=False):
    """Return an output with written minibatches, and their names."""
    output = MinibatchOutput(url=url, overwrite=overwrite)
    output.prepare()
    in_task = pickle.loads(pickle.dumps(output))
    return output, [in_task.write(minibatch(number)) for number in numbers]


def committed(url, *numbers, overwrite=False):
    output, names = begun(url, *numbers, overwrite=overwrite)
    output.commit(names)


def numbers_in(url):
    source = open_source(url, SourceOptions())
    return [int(one.load().features[0, 0]) for one in source.partitions]


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_minibatches_come_in_the_order_of_the_commit(url):
    committed(url, *range(12))
    assert numbers_in(url) == [*range(12)]


def test_what_is_added_follows_what_is_there(url):
    committed(url, 1, 2)
    committed(url, 3)
    committed(url, 4, 5)
    assert numbers_in(url) == [1, 2, 3, 4, 5]


def test_what_replaces_is_all_there_is(url):
    committed(url, 1, 2)
    committed(url, 3, overwrite=True)
    assert numbers_in(url) == [3]


def test_only_minibatches_are_beside_minibatches(tmp_path):
    """DL4J takes every file of a directory for one."""
    output = MinibatchOutput(url=str(tmp_path))
    output.prepare()
    multi = MultiDataSet([np.zeros((1, 2))], [np.zeros((1, 1))])
    output.commit([output.write(minibatch(0)), output.write(multi)])
    assert names_in(tmp_path) == [
        "_SUCCESS",
        "data",
        f"data/dataset_0_{output.run_id}.bin",
        f"data/mds_1_{output.run_id}.bin",
    ]


def test_what_was_not_committed_leaves_nothing(url):
    output, names = begun(url, 1, 1, 2)
    output.commit(names[1:])
    assert numbers_in(url) == [1, 2]


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_abort_leaves_what_was_there(tmp_path, overwrite):
    committed(str(tmp_path), 1, 2)
    before = names_in(tmp_path)
    output, _ = begun(str(tmp_path), 3, overwrite=overwrite)
    output.abort()
    assert names_in(tmp_path) == before


def test_an_abort_of_the_first_leaves_nothing(tmp_path):
    output, _ = begun(f"{tmp_path}/out", 3)
    output.abort()
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_commit_that_breaks_off_brings_back_what_was_there(
    tmp_path, monkeypatch, overwrite
):
    committed(str(tmp_path), 1, 2)
    before = names_in(tmp_path)
    output, names = begun(str(tmp_path), 3, 4, overwrite=overwrite)
    move = minibatch_output.move

    def moves_once(fs, source, target):
        move(fs, source, target)
        raise PermissionError("no more")

    monkeypatch.setattr(minibatch_output, "move", moves_once)
    with pytest.raises(PermissionError, match="no more"):
        output.commit(names)
    with pytest.raises(UnfinishedJobError):
        numbers_in(str(tmp_path))
    output.abort()
    assert names_in(tmp_path) == before
    assert numbers_in(str(tmp_path)) == [1, 2]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_job_that_was_killed_is_made_up_for_by_the_next(
    tmp_path, monkeypatch, overwrite
):
    committed(str(tmp_path), 1, 2)
    output, names = begun(str(tmp_path), 3, overwrite=overwrite)
    with monkeypatch.context() as patch:
        patch.setattr(minibatch_output, "_next_number", lambda fs, path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            output.commit(names)
    committed(str(tmp_path), 4)
    assert numbers_in(str(tmp_path)) == [1, 2, 4]


def test_two_that_add_at_once_both_do(url):
    first, names = begun(url, 1)
    second, others = begun(url, 2)
    first.commit(names)
    second.commit(others)
    assert numbers_in(url) == [1, 2]


def test_a_task_that_comes_after_the_end_makes_no_directory(url):
    output, _ = begun(url)
    output.abort()
    with pytest.raises(StorageError, match="given up"):
        output.write(minibatch(1))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["part-00000.parquet", "data/notes.txt"])
def test_what_is_no_output_is_left_alone(tmp_path, name, overwrite):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(OutputExistsError, match=name):
        begun(str(tmp_path), overwrite=overwrite)
    assert (tmp_path / name).exists()


def test_a_file_is_left_alone(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputExistsError, match="got a file"):
        begun(f"{tmp_path}/file", overwrite=True)


def test_nothing_is_added_to_what_is_not_finished(tmp_path):
    committed(str(tmp_path), 1)
    (tmp_path / "_SUCCESS").unlink()
    with pytest.raises(UnfinishedOutputError, match="overwrite"):
        begun(str(tmp_path))
    committed(str(tmp_path), 2, overwrite=True)
    assert numbers_in(str(tmp_path)) == [2]


def test_names_that_export_datasets_gave_count_as_minibatches(tmp_path):
    (tmp_path / "data").mkdir()
    minibatch(1).save(f"{tmp_path}/data/dataset_7.bin")
    (tmp_path / "_SUCCESS").touch()
    committed(str(tmp_path), 2)
    assert numbers_in(str(tmp_path)) == [1, 2]
    assert any("dataset_8_" in name for name in names_in(tmp_path))
