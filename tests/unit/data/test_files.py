"""Files appear whole, and what they replace is there until then."""

import errno
import os

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from daskdl.data.files import open_input, open_output
from daskdl.errors import OutputError, OutputExistsError, SourceNotFoundError


def write(path_or_url, content, **options):
    with open_output(path_or_url, **options) as stream:
        stream.write(content)


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
    with open_output(old, overwrite=True) as stream:
        stream.write(b"new")
        assert old.read_bytes() == b"old"
    assert old.read_bytes() == b"new"


def test_the_old_file_is_replaced_in_one_operation(old, monkeypatch):
    """Nothing but os.replace touches the name: no moment without a file."""
    touched = []
    replace = os.replace
    for name in ("remove", "unlink", "rename", "rmdir"):
        monkeypatch.setattr(os, name, lambda path, *_: touched.append(path))
    monkeypatch.setattr(
        os, "replace", lambda *paths: (touched.append(paths[1]), replace(*paths))
    )
    write(old, b"new", overwrite=True)
    assert touched == [str(old)]


def test_a_failed_write_keeps_the_old_file_and_nothing_else(old):
    with pytest.raises(TypeError), open_output(old, overwrite=True) as stream:
        stream.write("no bytes")
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


@pytest.mark.parametrize("what", ["nothing", "."])
def test_what_is_no_file_is_not_opened(tmp_path, what):
    with (
        pytest.raises(SourceNotFoundError, match=r"got nothing or a directory"),
        open_input(tmp_path / what),
    ):
        pass
