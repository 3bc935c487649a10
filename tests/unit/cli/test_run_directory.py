"""The directory that a run leaves, and what stands beside it until then."""

import errno
import os
import re
from pathlib import Path

import fsspec
import pytest

from daskdl.cli import retried_save, run_directory
from daskdl.cli.run_directory import (
    EVALUATION,
    JOB,
    RunDirectory,
)
from daskdl.data.files import write_output
from daskdl.errors import OptionError, OutputError, OutputExistsError
from daskdl.formats.run_network import MODEL

CHECKPOINT = "checkpoint-000001.safetensors"


class Net:
    def save(self, path, *, overwrite):
        write_output(path, lambda out: out.write(b"net"), overwrite=overwrite)


def keep(directory, name=CHECKPOINT):
    Net().save(directory.path(name), overwrite=True)


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "a" / "run")


@pytest.fixture
def directory(url):
    """One that is being made."""
    made = RunDirectory(url)
    made.make()
    made.write(JOB, "x: 1")
    return made


@pytest.fixture
def finished(directory):
    directory.save_model(Net())
    directory.finish()
    return directory


def names(path):
    return {entry.name for entry in Path(path).iterdir()}


def siblings(url):
    """What else is in the folder of a run."""
    return [name for name in names(Path(url).parent) if name != Path(url).name]


def test_an_empty_directory_is_replaced(tmp_path):
    """A store that copies keeps it where a run was stopped as it took its place."""
    (tmp_path / "out").mkdir()
    assert RunDirectory(str(tmp_path / "out"), overwrite=True).check() is None


def test_a_run_is_made_beside_its_place(directory, url):
    assert Path(directory.path(JOB)).read_text() == "x: 1"
    assert not Path(url).exists()
    (name,) = siblings(url)
    assert re.fullmatch(r"run\.unfinished-[0-9a-f]{8}", name)


def test_a_run_that_is_good_takes_its_place(finished, url):
    assert names(url) == {JOB, MODEL}
    assert siblings(url) == []
    assert finished.path(MODEL) == f"{url}/{MODEL}"


def test_a_second_write_replaces_the_first(directory):
    directory.write(JOB, "x: 2")
    assert Path(directory.path(JOB)).read_text() == "x: 2"


def test_a_place_without_anything_passes(tmp_path):
    assert RunDirectory(str(tmp_path / "run")).check() is None


def test_an_output_that_exists_is_refused(finished):
    with pytest.raises(OutputExistsError, match="output must not exist yet, got"):
        RunDirectory(finished.url).check()


def test_a_run_may_be_overwritten(finished):
    assert RunDirectory(finished.url, overwrite=True).check() is None


def test_only_a_run_may_be_overwritten(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(
        OutputExistsError, match="--overwrite must meet a run directory"
    ):
        RunDirectory(str(tmp_path), overwrite=True).check()


def again(url, *written, **options):
    """Return a second run at the same place, with its model and these files."""
    directory = RunDirectory(url, overwrite=True, **options)
    directory.check()
    directory.make()
    for name in (JOB, *written):
        directory.write(name, "second")
    directory.save_model(Net())
    return directory


def test_an_earlier_run_stays_until_the_next_is_good(finished, url):
    second = again(url)
    assert Path(url, JOB).read_text() == "x: 1"
    second.finish()
    assert Path(url, JOB).read_text() == "second"
    assert siblings(url) == []


def test_results_of_an_earlier_run_go_and_other_files_stay(finished, url):
    Path(url, EVALUATION).write_text("first")
    Path(url, "notes.txt").write_text("mine")
    Path(url, "predictions").mkdir()
    again(url).finish()
    assert names(url) == {JOB, MODEL, "notes.txt", "predictions"}


def test_a_run_that_fails_leaves_the_earlier_one_alone(finished, url):
    second = RunDirectory(url, overwrite=True)
    second.make()
    second.write(JOB, "second")
    second.leave()
    assert Path(url, JOB).read_text() == "x: 1"
    assert siblings(url) == []


def test_a_checkpoint_is_kept_beside_an_earlier_run(finished, url):
    second = RunDirectory(url, overwrite=True)
    second.make()
    keep(second)
    second.leave()
    assert names(url) == {JOB, MODEL}
    assert second.kept.startswith(f"checkpoint kept: {second.path(CHECKPOINT)}; ")
    assert Path(second.path(CHECKPOINT)).read_text() == "net"


def test_a_link_stays_and_what_it_points_to_is_replaced(finished, url, tmp_path):
    (tmp_path / "latest").symlink_to(url)
    again(str(tmp_path / "latest")).finish()
    assert (tmp_path / "latest").is_symlink()
    assert Path(url, JOB).read_text() == "second"


def test_what_came_meanwhile_is_not_replaced(directory, url):
    directory.save_model(Net())
    Path(url).mkdir()
    with pytest.raises(OutputExistsError, match=r"It is complete in .*unfinished-"):
        directory.finish()
    directory.leave()
    assert names(url) == set()
    assert Path(directory.path(MODEL)).exists()


def test_a_swap_that_breaks_off_brings_the_earlier_run_back(finished, url, monkeypatch):
    second = again(url)
    real = os.replace

    def replace(source, target):
        if "unfinished" in source:
            raise OSError(errno.EIO, "broke off")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OutputError, match=r"broke off\. The run is complete in .*unf"):
        second.finish()
    second.leave()
    assert Path(url, JOB).read_text() == "x: 1"
    assert Path(second.path(JOB)).read_text() == "second"


def test_who_is_killed_between_two_renames_loses_nothing(finished, url):
    """The next run, whatever it wants, brings the earlier one back first."""
    second = again(url)
    os.rename(url, f"{url}.replaced-0a1b2c3d")
    told = []
    with pytest.raises(OutputExistsError):
        RunDirectory(url, tell=told.append).check()
    assert Path(url, JOB).read_text() == "x: 1"
    assert told[0] == (
        f"{url} is restored from run.replaced-0a1b2c3d: its replacement was broken off"
    )
    assert told[1].startswith(f"beside {url} lies {Path(second.path(JOB)).parent.name}")


def test_who_is_killed_before_tidying_up_is_tidied_up_after(finished, url):
    aside = Path(f"{url}.replaced-0a1b2c3d")
    aside.mkdir()
    (aside / MODEL).write_text("older")
    (aside / "notes.txt").write_text("mine")
    RunDirectory(url, overwrite=True).check()
    assert siblings(url) == []
    assert names(url) == {JOB, MODEL, "notes.txt"}
    assert Path(url, MODEL).read_text() == "net"


def test_checkpoints_go_when_a_run_is_good(directory, url):
    keep(directory)
    directory.save_model(Net())
    assert directory.checkpoints() == [CHECKPOINT]
    directory.finish()
    assert names(url) == {JOB, MODEL}


def test_a_run_without_network_leaves_no_trace(directory, tmp_path):
    directory.leave()
    assert names(tmp_path) == set()


def test_a_run_with_a_network_is_kept_at_its_place(directory, url):
    keep(directory)
    directory.leave()
    assert names(url) == {JOB, CHECKPOINT}
    assert siblings(url) == []
    assert directory.kept == (
        f"checkpoint kept: {url}/{CHECKPOINT}; go on with: daskdl run --resume {url}"
    )


def test_folders_in_which_others_put_something_are_kept(directory, tmp_path):
    (tmp_path / "a" / "notes.txt").write_text("mine")
    directory.leave()
    assert names(tmp_path / "a") == {"notes.txt"}


def test_any_file_system_of_fsspec_will_do():
    directory = RunDirectory("memory://runs/one")
    directory.make()
    directory.write(JOB, "x: 1")
    directory.save_model(Net())
    directory.finish()
    with pytest.raises(OutputExistsError, match="memory://runs/one"):
        RunDirectory("memory://runs/one").check()
    again("memory://runs/one", EVALUATION).finish()
    store = fsspec.filesystem("memory")
    assert store.find("/runs") == [
        f"/runs/one/{name}" for name in (EVALUATION, JOB, MODEL)
    ]
    store.rm("/runs", recursive=True)


def test_a_place_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"output must be .*file/run \(Not a direct"):
        RunDirectory(f"{tmp_path}/file/run").make()


@pytest.mark.parametrize(
    ("saved", "kept"),
    [
        ([], None),
        ([CHECKPOINT, "checkpoint-000012.safetensors"], "checkpoint kept: "),
        ([CHECKPOINT, MODEL], "model kept: "),
    ],
)
def test_what_is_kept_is_told(directory, saved, kept):
    for name in saved:
        if name == MODEL:
            directory.save_model(Net())
        else:
            keep(directory, name)
    told = directory.kept and directory.kept.partition(";")[0]
    assert told == (kept and f"{kept}{directory.path(saved[-1])}")


class BrokenNet(Net):
    """The store does not take it where it belongs, so many times."""

    def __init__(self, times, number=errno.EIO):
        self._times = times
        self._number = number

    def save(self, path, *, overwrite):
        if "unfinished" in path and self._times:
            self._times -= 1
            raise OSError(self._number, "no")
        super().save(path, overwrite=overwrite)


@pytest.fixture
def working_directory(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(retried_save, "WAIT_S", 0.0)
    return tmp_path / "here"


def test_a_file_that_the_store_does_not_take_is_named(directory, monkeypatch):
    def broken(*args, **options):
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(run_directory, "write_output", broken)
    with pytest.raises(OutputError, match=r"evaluation\.json must be written"):
        directory.write(EVALUATION, "x")


def test_the_model_is_insisted_on(directory, working_directory):
    """A copy is at hand meanwhile, and goes when the model is where it belongs."""
    directory.save_model(BrokenNet(3))
    assert Path(directory.path(MODEL)).read_text() == "net"
    assert names(working_directory) == set()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_model_that_the_store_never_takes_is_kept_in_the_working_directory(
    directory, working_directory, monkeypatch, number
):
    if number == errno.EIO:
        monkeypatch.setattr(retried_save, "LIMIT_S", 0.0)
    with pytest.raises(OutputError) as refused:
        directory.save_model(BrokenNet(99, number))
    (name,) = names(working_directory)
    assert re.fullmatch(r"run-[0-9a-f]{8}\.safetensors", name)
    assert str(refused.value) == (
        f"run: {directory.path(MODEL)} must be written, the store does not take it: "
        f"no. The model is kept: move it from {working_directory / name}."
    )


def test_an_interrupt_while_the_model_is_saved_keeps_it(directory, working_directory):
    class Interrupted(Net):
        def save(self, path, **options):
            if "unfinished" in path:
                raise KeyboardInterrupt
            super().save(path, **options)

    with pytest.raises(KeyboardInterrupt):
        directory.save_model(Interrupted())
    (name,) = names(working_directory)
    assert (working_directory / name).read_text() == "net"


def test_a_path_that_is_no_text_here_is_written_as_its_bytes(directory):
    directory.write("report.html", b"\xc3\xb6".decode("ascii", "surrogateescape"))
    assert Path(directory.path("report.html")).read_text() == "ö"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no locks here")
def test_of_two_that_go_on_with_a_run_at_once_one_is_refused(directory, url):
    directory.write(JOB, "")
    keep(directory)
    directory.leave()
    first, second = (RunDirectory(url, resume=True) for _ in range(2))
    # Both before either of them has made it its own.
    first.check(), second.check()
    first.make()
    with pytest.raises(OptionError, match="run that has ended, got run, which goes on"):
        second.make()
    second.leave()
    with pytest.raises(OptionError, match="which goes on"):
        RunDirectory(url, resume=True).check()
    first.leave()
    RunDirectory(url, resume=True).check()
