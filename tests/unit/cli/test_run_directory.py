"""The directory that a run leaves."""

import errno
from pathlib import Path

import pytest

from daskdl.cli.run_directory import CHECKPOINT, JOB, MODEL, RunDirectory
from daskdl.errors import OptionError, OutputError, OutputExistsError


class Net:
    def save(self, path, *, overwrite):
        Path(path).write_text("net")


@pytest.fixture
def directory(tmp_path):
    made = RunDirectory(str(tmp_path / "a" / "run"))
    made.make()
    made.write(JOB, "x: 1")
    return made


def test_files_are_written_below_it(directory, tmp_path):
    assert (tmp_path / "a" / "run" / JOB).read_text() == "x: 1"


def test_a_second_write_replaces_the_first(directory, tmp_path):
    directory.write(JOB, "x: 2")
    assert (tmp_path / "a" / "run" / JOB).read_text() == "x: 2"


def test_a_place_without_anything_passes(tmp_path):
    assert RunDirectory(str(tmp_path / "run")).check() is None


def test_an_output_that_exists_is_refused(directory):
    with pytest.raises(OutputExistsError, match="output must not exist yet, got"):
        RunDirectory(directory.url).check()


def test_a_run_may_be_overwritten(directory):
    assert RunDirectory(directory.url, overwrite=True).check() is None


def test_only_a_run_may_be_overwritten(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(
        OutputExistsError, match="--overwrite must meet a run directory"
    ):
        RunDirectory(str(tmp_path), overwrite=True).check()


def test_overwriting_removes_old_results_only(directory, tmp_path):
    directory.save(MODEL, Net())
    (tmp_path / "a" / "run" / "notes.txt").write_text("mine")
    RunDirectory(directory.url, overwrite=True).make()
    assert {path.name for path in (tmp_path / "a" / "run").iterdir()} == {
        JOB,
        "notes.txt",
    }


def test_a_removed_checkpoint_is_gone(directory):
    directory.save(CHECKPOINT, Net())
    directory.remove(CHECKPOINT)
    assert not Path(directory.url, CHECKPOINT).exists()


def test_a_directory_without_network_is_discarded(directory):
    directory.discard_if_empty()
    assert not Path(directory.url).exists()


def test_a_directory_with_a_network_is_kept(directory):
    directory.save(CHECKPOINT, Net())
    directory.discard_if_empty()
    assert Path(directory.url, CHECKPOINT).exists()


def test_a_directory_that_was_there_is_kept(directory):
    again = RunDirectory(directory.url, overwrite=True)
    again.make()
    again.discard_if_empty()
    assert Path(directory.url).exists()


def test_what_others_put_there_is_kept(directory):
    Path(directory.url, "notes.txt").write_text("mine")
    directory.discard_if_empty()
    assert Path(directory.url, "notes.txt").exists()


def test_any_file_system_of_fsspec_will_do():
    directory = RunDirectory("memory://runs/one")
    directory.make()
    directory.write(JOB, "x: 1")
    with pytest.raises(OutputExistsError, match="memory://runs/one"):
        RunDirectory("memory://runs/one").check()


def test_a_place_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"output must be .*file/run \(Not a direct"):
        RunDirectory(f"{tmp_path}/file/run").make()


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        ([], None),
        ([CHECKPOINT, CHECKPOINT], "checkpoint kept: "),
        ([CHECKPOINT, MODEL], "model kept: "),
    ],
)
def test_what_is_kept_is_told(directory, names, kept):
    for name in names:
        directory.save(name, Net())
    assert directory.kept == (kept and f"{kept}{directory.path(names[-1])}")


def test_a_checkpoint_that_was_removed_is_not_kept(directory):
    for _ in range(2):
        directory.save(CHECKPOINT, Net())
    directory.remove(CHECKPOINT)
    assert directory.kept is None


def test_a_file_that_the_store_does_not_take_is_named(directory, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Net, "save", full)
    with pytest.raises(
        OutputError, match=r"model\.safetensors must be written, .*: No space"
    ):
        directory.save(MODEL, Net())


def test_a_path_that_is_no_text_here_is_written_as_its_bytes(directory):
    directory.write("report.html", b"\xc3\xb6".decode("ascii", "surrogateescape"))
    assert Path(directory.path("report.html")).read_text() == "ö"
