"""What killed runs leave beside their output, and who removes it."""

import subprocess
import sys
from pathlib import Path

import pytest

from daskdl.cli.run_directory import JOB, RunDirectory
from daskdl.data import directory_lock
from daskdl.data.files import write_output
from daskdl.formats.run_network import MODEL

CHECKPOINT = "checkpoint-000001.safetensors"
KILLED = """
import os, sys
from daskdl.cli.run_directory import RunDirectory
made = RunDirectory(sys.argv[1])
made.make()
for name in sys.argv[2:]:
    made.write(name, "x")
os.kill(os.getpid(), 9)
"""


class Net:
    def save(self, path, *, overwrite):
        write_output(path, lambda out: out.write(b"net"), overwrite=overwrite)


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "run")


@pytest.fixture
def told():
    return []


def killed_run(url, *names):
    subprocess.run([sys.executable, "-c", KILLED, url, *names], check=False)


def run(url, told):
    directory = RunDirectory(url, overwrite=True, tell=told.append)
    directory.check()
    directory.make()
    directory.write(JOB, "x")
    directory.save_model(Net())
    return directory


def beside(url):
    return sorted(Path(url).parent.glob("run.unfinished-*"))


def test_what_a_killed_run_left_goes_with_the_next(url, told):
    killed_run(url, JOB)
    assert len(beside(url)) == 1
    RunDirectory(url, tell=told.append).check()
    assert beside(url) == []
    assert told == []


def test_a_network_of_a_killed_run_stays_until_the_next_is_good(url, told):
    """Hours of training may be in it."""
    killed_run(url, JOB, CHECKPOINT)
    (left,) = beside(url)
    directory = run(url, told)
    assert left.exists()
    assert "it is removed when this run is good" in told[0]
    directory.finish()
    assert beside(url) == []
    assert {entry.name for entry in Path(url).iterdir()} == {JOB, MODEL}


def test_a_run_that_goes_on_is_never_removed(url, told):
    going_on = RunDirectory(url)
    going_on.make()
    run(url, told).finish()
    assert len(beside(url)) == 1
    assert "unless it goes on elsewhere" in told[0]
    Net().save(going_on.path(CHECKPOINT), overwrite=False)


def test_a_run_of_another_machine_is_never_removed(url, told, monkeypatch):
    """Its lock may not be seen here."""
    killed_run(url, JOB)
    monkeypatch.setattr(directory_lock, "_boot_id", lambda: b"another")
    run(url, told).finish()
    assert len(beside(url)) == 1


def test_a_directory_of_which_nothing_is_known_is_never_removed(url, told):
    Path(f"{url}.unfinished-01234567").mkdir(parents=True)
    run(url, told).finish()
    assert len(beside(url)) == 1


def test_where_no_lock_can_be_had_a_run_works_all_the_same(url, told, monkeypatch):
    monkeypatch.setattr(directory_lock, "_boot_id", lambda: b"")
    run(url, told).finish()
    assert {entry.name for entry in Path(url).iterdir()} == {JOB, MODEL}
