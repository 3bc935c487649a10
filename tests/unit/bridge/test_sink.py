"""Part files that appear all at once, or not at all."""

import errno
import logging
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from daskdl.data.sinks import open_sink
from daskdl.errors import (
    DataError,
    OptionError,
    OutputExistsError,
    StorageError,
    UnfinishedJobError,
    UnfinishedOutputError,
)
from daskdl_bridge.listing import list_parts
from daskdl_bridge.sink import PathSink
from tests.unit.bridge.table_files import open_path


def columns(*keys):
    rows = len(keys)
    return {
        "key": np.array(keys, dtype=object),
        "prediction": np.arange(float(rows)),
        "probability": np.full((rows, 2), 0.5, "float32"),
    }


def committed(url, *parts, **options):
    sink = open_sink(str(url), **options)
    sink.prepare()
    paths = [sink.write_part(i, columns(*keys)) for i, keys in enumerate(parts)]
    return sink.commit(paths)


def keys_of(url):
    source = open_path(str(url), features="probability", label="prediction", key="key")
    return [p.load().keys.tolist() for p in source.partitions]


def names_in(url):
    return sorted(path.name for path in Path(url).iterdir())


def test_parts_come_back_in_their_order(tmp_path):
    committed(tmp_path / "out", ["a", "b"], ["c"], ["d"])
    assert keys_of(tmp_path / "out") == [["a", "b"], ["c"], ["d"]]


def test_names_are_those_of_spark(tmp_path):
    paths = committed(tmp_path / "out", ["a"], ["b"])
    parts = list_parts(str(tmp_path / "out"))
    assert [part.url for part in parts] == paths
    assert [part.partition for part in parts] == [0, 1]
    assert len({part.job for part in parts}) == 1


def test_nothing_but_parts_and_the_mark_is_left(tmp_path):
    paths = committed(tmp_path / "out", ["a"])
    assert names_in(tmp_path / "out") == ["_SUCCESS", Path(paths[0]).name]


def test_readers_are_refused_before_the_commit(tmp_path):
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    sink.write_part(0, columns("a"))
    with pytest.raises(UnfinishedJobError, match=r"_temporary and no _SUCCESS"):
        list_parts(str(tmp_path / "out"))


def test_workers_get_a_pickled_sink(tmp_path):
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    path = pickle.loads(pickle.dumps(sink)).write_part(0, columns("a"))
    assert len(sink.commit([path])) == 1


def test_only_what_is_committed_counts(tmp_path):
    """A part may be written twice, by a worker that was thought lost."""
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    sink.write_part(0, columns("lost"))
    sink.commit([sink.write_part(0, columns("kept"))])
    assert keys_of(tmp_path / "out") == [["kept"]]


def test_parts_without_rows_are_left_out(tmp_path):
    committed(tmp_path / "out", [], ["a"], [])
    assert keys_of(tmp_path / "out") == [["a"]]


def test_output_without_rows_still_tells_its_columns(tmp_path):
    committed(tmp_path / "out", [], [])
    assert keys_of(tmp_path / "out") == [[]]


def test_existing_output_is_refused(tmp_path):
    committed(tmp_path / "out", ["a"])
    with pytest.raises(OutputExistsError, match=r"Pass overwrite=True"):
        open_sink(str(tmp_path / "out")).prepare()


def test_old_output_stays_until_the_new_one_is_committed(tmp_path):
    committed(tmp_path / "out", ["old"], ["older"])
    sink = open_sink(str(tmp_path / "out"), overwrite=True)
    sink.prepare()
    path = sink.write_part(0, columns("new"))
    assert keys_of(tmp_path / "out") == [["old"], ["older"]]
    sink.commit([path])
    assert keys_of(tmp_path / "out") == [["new"]]


@pytest.mark.parametrize("name", ["model.zip", "sub/x"])
def test_directory_with_other_things_is_never_overwritten(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(OutputExistsError, match=r"only the output of a job"):
        open_sink(str(tmp_path), overwrite=True).prepare()


def test_file_is_never_overwritten(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(OutputExistsError, match=r"only the output of a job"):
        open_sink(str(tmp_path / "x"), overwrite=True).prepare()


def test_abort_leaves_nothing(tmp_path):
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    sink.write_part(0, columns("a"))
    sink.abort()
    sink.abort()
    assert names_in(tmp_path) == []


def test_abort_keeps_the_old_output(tmp_path):
    committed(tmp_path / "out", ["old"])
    sink = open_sink(str(tmp_path / "out"), overwrite=True)
    sink.prepare()
    sink.abort()
    assert keys_of(tmp_path / "out") == [["old"]]


def refusing(monkeypatch, error, after):
    """Let the rename with that number fail, and all that follow."""
    real, calls = os.replace, []

    def replace(source, target):
        calls.append(target)
        if len(calls) > after:
            raise error
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)


@pytest.fixture
def second(tmp_path):
    """A sink whose part is written, over an output of two parts."""
    committed(tmp_path / "out", ["old"], ["older"])
    sink = open_sink(str(tmp_path / "out"), overwrite=True)
    sink.prepare()
    return sink, [sink.write_part(0, columns("new"))]


# Before the mark goes, between the old parts, and between those and the new one.
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("error", [PermissionError("no"), KeyboardInterrupt()])
def test_old_output_comes_back_when_a_commit_fails(
    tmp_path, second, monkeypatch, error, after
):
    sink, paths = second
    with monkeypatch.context() as patch:
        refusing(patch, error, after)
        with pytest.raises(type(error)):
            sink.commit(paths)
    sink.abort()
    assert keys_of(tmp_path / "out") == [["old"], ["older"]]
    assert "_temporary" not in names_in(tmp_path / "out")


@pytest.mark.parametrize("after", range(4))
def test_next_job_brings_back_what_a_killed_one_left(
    tmp_path, second, monkeypatch, after
):
    sink, paths = second
    with monkeypatch.context() as patch:
        refusing(patch, KeyboardInterrupt(), after)
        with pytest.raises(KeyboardInterrupt):
            sink.commit(paths)
    if after:
        with pytest.raises(UnfinishedJobError):
            list_parts(str(tmp_path / "out"))
    open_sink(str(tmp_path / "out"), overwrite=True).prepare()
    assert keys_of(tmp_path / "out") == [["old"], ["older"]]


def test_abort_after_a_commit_keeps_the_new_output(tmp_path, second):
    sink, paths = second
    sink.commit(paths)
    sink.abort()
    assert keys_of(tmp_path / "out") == [["new"]]


def test_abort_leaves_what_other_jobs_write(tmp_path):
    other = open_sink(str(tmp_path / "out"))
    other.prepare()
    sink = open_sink(str(tmp_path / "out"))
    with pytest.raises(OutputExistsError):
        sink.prepare()
    sink.abort()
    assert other.write_part(0, columns("a"))


def test_path_given_twice_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"paths must differ"):
        open_sink(str(tmp_path / "out")).commit(["a", "a"])


def test_bad_columns_are_not_tried_again(tmp_path):
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    with pytest.raises(DataError, match=r"one length"):
        sink.write_part(0, {"a": [1], "b": [1, 2]})


class BrokenStream:
    """Breaks in mid-write as often as it is told to, then is a plain file."""

    def __init__(self, stream, failures):
        self._stream = stream
        self._failures = failures

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stream.close()

    def write(self, data):
        self._stream.write(data[:10])
        if self._failures:
            raise self._failures.pop()
        self._stream.write(data[10:])


def sink_with_failures(url, failures, monkeypatch):
    from fsspec.implementations.local import LocalFileSystem

    sink = PathSink(url=str(url), retry_waits_s=(0.0, 0.0))
    sink.prepare()
    real_open = LocalFileSystem.open

    def open_broken(self, path, mode="rb", **options):
        stream = real_open(self, path, mode, **options)
        return BrokenStream(stream, failures) if mode == "wb" else stream

    monkeypatch.setattr(LocalFileSystem, "open", open_broken)
    return sink


def test_whole_file_is_written_again_after_an_error(tmp_path, monkeypatch, caplog):
    failures = [OSError("DataNode lost"), StorageError("no answer")]
    sink = sink_with_failures(tmp_path / "out", failures, monkeypatch)
    with caplog.at_level(logging.INFO):
        path = sink.write_part(3, columns("a", "b"))
    monkeypatch.undo()
    sink.commit([path])
    assert keys_of(tmp_path / "out") == [["a", "b"]]
    told = [record.message for record in caplog.records]
    assert [text.partition("failed")[0][-8:] for text in told] == [" part 3 "] * 2


def test_last_error_is_raised_when_tries_are_used_up(tmp_path, monkeypatch):
    failures = [OSError(errno.EIO, "Input/output error")] * 3
    sink = sink_with_failures(tmp_path / "out", failures, monkeypatch)
    with pytest.raises(StorageError, match=r"part 0 must .* take it: Input/output e"):
        sink.write_part(0, columns("a"))
    assert failures == []


def test_a_full_disk_is_not_tried_again(tmp_path, monkeypatch):
    failures = [OSError(errno.ENOSPC, "No space left on device")] * 3
    sink = sink_with_failures(tmp_path / "out", failures, monkeypatch)
    with pytest.raises(StorageError, match=r"does not take it: No space left"):
        sink.write_part(0, columns("a"))
    assert len(failures) == 2


def test_missing_permission_is_not_tried_again(tmp_path, monkeypatch):
    failures = [PermissionError("not yours"), PermissionError("not yours")]
    sink = sink_with_failures(tmp_path / "out", failures, monkeypatch)
    with pytest.raises(PermissionError, match=r"not yours"):
        sink.write_part(0, columns("a"))
    assert len(failures) == 1


def test_a_relative_path_means_the_same_on_every_worker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sink = open_sink("out")
    sink.prepare()
    (tmp_path / "worker").mkdir()
    monkeypatch.chdir(tmp_path / "worker")
    sink.commit([sink.write_part(0, {"key": np.arange(3)})])
    assert (tmp_path / "out" / "_SUCCESS").exists()


KILLED = """
import os, sys
from daskdl.data.sinks import open_sink
sink = open_sink(sys.argv[1])
sink.prepare()
sink.write_part(0, {"key": [1]})
os.kill(os.getpid(), 9)
"""


def killed_job(url):
    command = [sys.executable, "-c", KILLED, str(url)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert names_in(url) == ["_temporary"]


def test_what_a_killed_job_left_is_no_output(tmp_path):
    killed_job(tmp_path / "out")
    committed(tmp_path / "out", ["a"])
    assert keys_of(tmp_path / "out") == [["a"]]


def test_what_a_job_leaves_that_goes_on_is_not_removed(tmp_path):
    at_work = open_sink(str(tmp_path / "out"))
    at_work.prepare()
    path = at_work.write_part(0, columns("a"))
    with pytest.raises(UnfinishedOutputError, match="got only _temporary there, of a"):
        committed(tmp_path / "out", ["b"])
    at_work.commit([path])
    assert keys_of(tmp_path / "out") == [["a"]]


@pytest.mark.parametrize("left", ["_temporary/0/task_1/part-0", "_temporary/x/part-0"])
def test_what_somebody_else_left_is_not_removed(tmp_path, left):
    """Spark's jobs, ours of another machine: who knows whether they have ended."""
    (tmp_path / "out" / left).parent.mkdir(parents=True)
    (tmp_path / "out" / left).write_text("theirs")
    with pytest.raises(UnfinishedOutputError, match="If it has ended, remove the dir"):
        committed(tmp_path / "out", ["b"])
    assert (tmp_path / "out" / left).exists()


def test_an_output_that_stands_aside_is_never_said_to_be_removed(tmp_path):
    (tmp_path / "out" / "_temporary" / "x-replaced").mkdir(parents=True)
    with pytest.raises(UnfinishedOutputError, match="overwrite=True if it") as caught:
        committed(tmp_path / "out", ["b"])
    assert "remove" not in str(caught.value)


def test_workers_know_nothing_of_who_lives(tmp_path):
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    assert pickle.loads(pickle.dumps(sink))._locks == []
    sink.abort()
    assert names_in(tmp_path) == []
