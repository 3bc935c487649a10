"""Files appear whole, and what they replace is there until then."""

import errno
import os

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from daskdl.data.files import open_input, write_output
from daskdl.errors import OutputError, OutputExistsError, SourceNotFoundError


def write(path_or_url, content, **options):
    write_output(path_or_url, lambda out: out.write(content), **options)


def names(directory):
    return sorted(os.listdir(directory))


@pytest.fixture
def memory():
    """A store without renaming: it copies and removes."""
    yield fsspec.filesystem("memory")
    MemoryFileSystem.store.clear()


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    return path


def test_the_old_file_stays_until_the_new_one_is_complete(old):
    seen = []

    def fill(stream):
        stream.write(b"new")
        seen.append(old.read_bytes())

    write_output(old, fill, overwrite=True)
    assert (seen, old.read_bytes()) == ([b"old"], b"new")


def test_the_old_file_is_replaced_in_one_operation(old, monkeypatch):
    """Nothing but os.replace touches the name: no moment without a file."""
    touched = []
    replace = os.replace
    with monkeypatch.context() as patch:
        for name in ("remove", "unlink", "rename", "rmdir"):
            patch.setattr(os, name, lambda path, *_: touched.append(path))
        patch.setattr(
            os, "replace", lambda *paths: (touched.append(paths[1]), replace(*paths))
        )
        write(old, b"new", overwrite=True)
    assert touched == [str(old)]


def test_a_failed_write_keeps_the_old_file_and_nothing_else(old):
    with pytest.raises(TypeError):
        write(old, "no bytes", overwrite=True)
    assert old.read_bytes() == b"old"
    assert names(old.parent) == ["model"]


def test_what_cannot_take_its_name_is_kept(old, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OutputError, match=r"model: .* It is complete in file://.*: mo"):
        write(old, b"new", overwrite=True)
    assert old.read_bytes() == b"old"
    (kept,) = [path for path in old.parent.iterdir() if path != old]
    assert kept.read_bytes() == b"new"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_directory_is_never_replaced(tmp_path, overwrite):
    with pytest.raises(OutputExistsError, match=r"name of a file, got a directory"):
        write(tmp_path, b"new", overwrite=overwrite)


def test_an_existing_file_is_refused(old):
    with pytest.raises(OutputExistsError, match=r"Pass overwrite=True"):
        write(old, b"new")


def test_a_store_that_copies_has_the_new_file_and_nothing_else(memory):
    write("memory://out/model", b"old")
    write("memory://out/model", b"new", overwrite=True)
    assert memory.cat("/out/model") == b"new"
    assert memory.ls("/out", detail=False) == ["/out/model"]


def test_a_store_that_renames_only_to_free_names_is_served(memory, monkeypatch):
    """As SMB does; the old file goes only when the new one is complete."""
    move = MemoryFileSystem.mv

    def mv(self, source, target, **options):
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, "taken", target)
        move(self, source, target, **options)

    monkeypatch.setattr(MemoryFileSystem, "mv", mv)
    write("memory://out/model", b"old")
    write("memory://out/model", b"new", overwrite=True)
    assert memory.cat("/out/model") == b"new"


def test_another_failure_to_rename_costs_neither_file(memory, monkeypatch):
    def mv(self, source, target, **options):
        raise OSError(errno.EIO, "broke off")

    write("memory://out/model", b"old")
    monkeypatch.setattr(MemoryFileSystem, "mv", mv)
    with pytest.raises(OutputError, match=r"broke off\. It is complete in memory://"):
        write("memory://out/model", b"new", overwrite=True)
    kept = memory.ls("/out", detail=False)
    assert sorted(memory.cat_file(path) for path in kept) == [b"new", b"old"]


def breaking(times, error):
    """Return a writer that breaks off in the middle so many times, and what it did."""
    streams = []

    def fill(stream):
        streams.append(stream)
        stream.write(b"ne")
        if len(streams) <= times:
            raise error
        stream.write(b"w")

    return fill, streams


def test_a_store_that_breaks_off_is_given_the_whole_file_again(old):
    fill, streams = breaking(2, OSError(errno.EIO, "broke off"))
    write_output(old, fill, overwrite=True)
    assert old.read_bytes() == b"new"
    assert len(streams) == 3
    assert names(old.parent) == ["model"]


def test_a_store_that_never_takes_it_keeps_the_old_file_and_nothing_else(old):
    fill, _ = breaking(99, TimeoutError("no answer"))
    with pytest.raises(OutputError, match=r"does not take it: no answer\.$"):
        write_output(old, fill, overwrite=True)
    assert old.read_bytes() == b"old"
    assert names(old.parent) == ["model"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_what_time_does_not_mend_is_not_tried_again(old, number):
    fill, streams = breaking(99, OSError(number, "never"))
    with pytest.raises(OutputError, match=r"does not take it: never"):
        write_output(old, fill, overwrite=True)
    assert len(streams) == 1


def test_an_interrupt_keeps_the_old_file_and_nothing_else(old):
    fill, streams = breaking(1, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        write_output(old, fill, overwrite=True)
    assert len(streams) == 1
    assert names(old.parent) == ["model"]


def test_a_store_that_does_not_answer_does_not_pass_for_an_empty_one(
    memory, monkeypatch
):
    """fsspec's own exists() says that nothing is there."""
    write("memory://out/model", b"old")

    def info(self, path, **options):
        raise TimeoutError("no answer")

    monkeypatch.setattr(MemoryFileSystem, "info", info)
    with pytest.raises(OutputError, match="no answer"):
        write("memory://out/model", b"new")
    assert memory.cat("/out/model") == b"old"


def test_a_name_that_was_given_although_the_answer_was_lost_is_no_error(
    memory, monkeypatch
):
    real, calls = MemoryFileSystem.mv, []

    def mv(self, source, target, **options):
        calls.append(source)
        real(self, source, target, **options)
        raise TimeoutError("no answer")

    monkeypatch.setattr(MemoryFileSystem, "mv", mv)
    write("memory://out/model", b"new")
    assert memory.cat("/out/model") == b"new"
    assert len(calls) == 1


@pytest.mark.parametrize("what", ["nothing", "."])
def test_what_is_no_file_is_not_opened(tmp_path, what):
    with (
        pytest.raises(SourceNotFoundError, match=r"got nothing or a directory"),
        open_input(tmp_path / what),
    ):
        pass
