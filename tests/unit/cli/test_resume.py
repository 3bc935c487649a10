"""``daskdl run --resume``: which run it is, what is refused, what stays."""

import shutil
import signal
import threading

import pytest

from daskdl.cli.exit_codes import Terminated
from daskdl.cli.graceful_end import GracefulEnd
from daskdl.cli.main import main
from daskdl.errors import FormatError, WorkerLostError
from daskdl.nn.fitting.events import EpochFinished
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.run_state import RunPosition
from tests.unit.cli.test_run import FakeFront, fake_cluster, finished, out, run

__all__ = ["fake_cluster", "out", "run"]


@pytest.fixture
def resume(runner, out, fake_cluster):
    """A function that goes on with the run, with further arguments."""
    return lambda *given: runner.invoke(main, ["run", "--resume", str(out), *given])


@pytest.fixture
def stopped(run, out, monkeypatch):
    """A run that lost its workers after its first epoch."""
    monkeypatch.setattr(FakeFront, "error", WorkerLostError("gone"))
    monkeypatch.setattr(FakeFront, "resumed", [])
    run()
    monkeypatch.setattr(FakeFront, "error", None)
    return out


def test_a_run_goes_on_in_its_directory(stopped, resume):
    result = resume()
    assert result.exit_code == 0, result.stderr
    assert FakeFront.resumed == [None, str(stopped)]
    assert "model.safetensors" in {path.name for path in stopped.iterdir()}
    assert not list(stopped.glob("checkpoint-*"))


def test_a_run_that_was_killed_lies_beside_its_place(stopped, resume):
    beside = stopped.parent / "out.unfinished-01234567"
    stopped.rename(beside)
    assert resume().exit_code == 0
    assert FakeFront.resumed[-1] == str(beside)
    assert (stopped / "model.safetensors").exists()


def test_a_run_without_checkpoint_begins_anew(stopped, resume):
    for path in stopped.glob("checkpoint-*"):
        path.unlink()
    result = resume()
    assert f"{stopped} has no checkpoint: the run ended before its" in result.stderr
    assert "It begins anew, with 2 epochs to train" in result.stderr
    assert FakeFront.resumed[-1] is None


def test_a_run_that_fails_again_stays(stopped, resume, monkeypatch):
    monkeypatch.setattr(FakeFront, "error", WorkerLostError("gone"))
    assert resume().exit_code == 3
    assert list(stopped.glob("checkpoint-*"))


def test_keys_may_be_set_without_a_job(stopped, resume):
    assert resume("training.epochs=5").exit_code == 0
    assert "epochs: 5" in (stopped / "job.yaml").read_text()


def test_a_complete_run_is_left_alone(run, out, resume):
    run()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    result = resume()
    assert result.exit_code == 0
    assert "is complete: nothing is trained" in result.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_more_epochs_of_a_complete_run_are_refused(run, out, resume):
    run()
    result = resume("training.epochs=99")
    assert result.exit_code == 2
    assert "is complete" in result.stderr
    assert "model:" in result.stderr


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("network.layers[0].n_out=99", "network.layers[0].n_out"),
        ("training.batch_size=7", "training.batch_size"),
        ("data.train=elsewhere", "data.train"),
    ],
)
def test_a_complete_run_is_not_taken_for_another(run, out, resume, given, key):
    run()
    result = resume(given)
    assert result.exit_code == 2
    assert f"run: {key} must stay as it was with --resume" in result.stderr
    assert "Give --output in place of --resume" in result.stderr


@pytest.mark.parametrize(
    "given",
    ["cluster.workers=3", "training.epochs=1", "data.storage_options={anon: true}"],
)
def test_a_complete_run_goes_on_anywhere(run, out, resume, given):
    run()
    assert "is complete: nothing is trained" in resume(given).stderr


def test_what_replaces_a_run_needs_overwrite_again(stopped, run, resume):
    shutil.move(stopped, stopped.parent / "out.unfinished-01234567")
    (stopped).mkdir()
    (stopped / "job.yaml").touch()
    (stopped / "model.safetensors").touch()
    assert resume().exit_code == 2
    assert resume("--overwrite").exit_code == 0


def test_no_run_is_refused(resume, out):
    result = resume()
    assert (result.exit_code, "got none" in result.stderr) == (2, True)
    assert f"begin it anew, with its job file and --output {out}" in result.stderr


def test_a_directory_of_something_else_is_refused(resume, out):
    out.mkdir()
    result = resume()
    assert (result.exit_code, "got none" in result.stderr) == (2, True)
    assert "anew" not in result.stderr


def test_damaged_checkpoints_are_named_where_they_are(
    stopped, resume, out, monkeypatch
):
    beside = stopped.parent / "out.unfinished-01234567"
    stopped.rename(beside)
    damage = f"resume: {beside}/checkpoint-000001.safetensors is damaged."
    monkeypatch.setattr(FakeFront, "error", FormatError(damage))
    result = resume()
    assert f"{beside} is renamed: it is {out} now" in result.stderr
    assert f"error: resume: {out}/checkpoint-000001.safetensors is" in result.stderr
    assert (out / "checkpoint-000001.safetensors").exists()


def test_no_job_at_all_is_refused(runner):
    assert runner.invoke(main, ["run"]).exit_code == 2


@pytest.fixture
def training():
    end = GracefulEnd(lambda line: None, grace_s=600)
    fit = Fit([], 2, lambda: None)
    end.on_epoch_start(fit)
    with end:
        yield end, fit


def test_sigterm_waits_for_the_epoch(training):
    end, fit = training
    end._on_signal(15, None)
    end.iteration_done(fit)
    assert fit.is_checkpoint_wanted
    with pytest.raises(Terminated):
        end.on_event(finished(1))


def test_sigterm_ends_amid_an_epoch_behind_a_checkpoint(training):
    end, fit = training
    end._on_signal(15, None)
    fit._listeners = [end]
    with pytest.raises(Terminated):
        fit.stand_still(RunPosition(epoch=0, positions=(3, 3)))


def test_sigterm_ends_a_run_that_waits_for_a_worker():
    with GracefulEnd(lambda line: None, grace_s=0.1) as end:
        end.on_epoch_start(Fit([], 2, lambda: None))
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Terminated):
            threading.Event().wait(60)


def test_a_second_sigterm_ends_at_once(training):
    end, _ = training
    end._on_signal(15, None)
    with pytest.raises(Terminated):
        end._on_signal(15, None)


def test_sigterm_between_two_epochs_ends_at_once(training):
    end, _ = training
    event = finished(1)
    assert isinstance(event, EpochFinished)
    end.on_event(event)
    with pytest.raises(Terminated):
        end._on_signal(15, None)
