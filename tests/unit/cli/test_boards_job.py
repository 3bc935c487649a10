"""A job whose training is shown elsewhere; in this process."""

import sys
from contextlib import contextmanager

import pytest
import yaml

from daskdl.cli.job import Job
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting.fit import Fit
from tests.unit.cli.test_early_stopping_job import out, run
from tests.unit.cli.test_job import refusal

__all__ = ["out", "run"]


def curves_of(directory):
    pytest.importorskip("tensorboardX", reason="needs daskdl[tensorboard]")
    from tests.unit.boards.event_reading import curves

    return curves(directory)


@contextmanager
def dying_in_the_second_epoch():
    """Have a fit lose its last worker there."""
    end_epoch = Fit.end_epoch

    def die(self, *counts):
        if self.epoch == 2:
            raise WorkerLostError("none left")
        end_epoch(self, *counts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fit, "end_epoch", die)
        yield


@pytest.fixture
def tensorboard():
    pytest.importorskip("tensorboardX", reason="needs daskdl[tensorboard]")
    return {"histograms_every_n_epochs": 2}


def test_the_run_directory_is_what_tensorboard_reads(run, out, tensorboard):
    result = run(tensorboard=tensorboard, epochs=4)
    assert result.exit_code == 0, result.output
    found = curves_of(out)
    assert list(found["score"]) == list(range(1, 21))
    assert list(found["epoch_validation_accuracy"]) == [5, 10, 15, 20]
    histograms = [tag for tag in found if tag.startswith("parameters/")]
    assert {tuple(found[tag]) for tag in histograms} == {(10, 20)}


def test_a_job_that_goes_on_has_one_curve(run, out, tensorboard):
    how = {"tensorboard": tensorboard, "epochs": 3}
    with dying_in_the_second_epoch():
        assert run(**how).exit_code != 0
    assert list(curves_of(out)["score"]) == list(range(1, 11))
    result = run("--resume", str(out), **how)
    assert result.exit_code == 0, result.output
    assert list(curves_of(out)["score"]) == list(range(1, 16))


def test_a_run_that_is_replaced_leaves_no_events(run, out, tensorboard):
    run(tensorboard=tensorboard)
    assert run("--overwrite").exit_code == 0
    assert list(out.glob("events.*")) == []


def test_a_missing_extra_ends_a_job_before_it_starts(run, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX.record_writer", None)
    result = run(tensorboard={})
    assert result.exit_code != 0
    assert "pip install 'daskdl[tensorboard]'" in result.stderr
    assert not out.exists()


def test_unknown_options_are_refused(job_values):
    job_values["training"]["tensorboard"] = {"every": 3}
    message = refusal(job_values)
    assert "training.tensorboard.every" in message


def test_what_is_given_comes_back(job_values):
    job_values["training"]["tensorboard"] = {"frequency": 3}
    job = Job.model_validate(job_values)
    values = job.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    assert yaml.safe_load(yaml.safe_dump(values))["training"]["tensorboard"] == {
        "frequency": 3
    }


def test_a_job_that_only_pretrains_is_refused(job_values):
    job_values["training"] |= {"epochs": 0, "pretrain": {}, "tensorboard": {}}
    assert "tensorboard: must be left out with `epochs: 0`" in refusal(job_values)


@pytest.fixture
def server(tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="needs daskdl[mlflow]")
    from tests.unit.boards.mlflow_server import MLflowServer

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    with MLflowServer(tmp_path / "artifacts").serving() as server:
        yield server


def test_a_job_tells_an_mlflow_server(run, server):
    result = run(mlflow={"tracking_uri": server.url, "experiment": "digits"}, epochs=4)
    assert result.exit_code == 0, result.output
    assert server.steps("epoch_validation_accuracy") == [5, 10, 15, 20]
    assert server.run["info"]["run_name"] == "out"
    assert server.run["statuses"] == ["FINISHED"]


def test_a_job_that_goes_on_goes_on_with_its_run(run, out, server):
    how = {"mlflow": {"tracking_uri": server.url, "frequency": 1}, "epochs": 3}
    with dying_in_the_second_epoch():
        assert run(**how).exit_code != 0
    assert server.run["info"]["status"] == "FAILED"
    assert run("--resume", str(out), **how).exit_code == 0
    assert server.steps("epoch_score") == [5, 10, 15]
    assert server.run["info"]["status"] == "FINISHED"


def test_an_mlflow_job_that_only_pretrains_is_refused(job_values):
    job_values["training"] |= {"epochs": 0, "pretrain": {}, "mlflow": {}}
    assert "mlflow: must be left out with `epochs: 0`" in refusal(job_values)


def test_a_missing_mlflow_ends_a_job_before_it_starts(run, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    result = run(mlflow={})
    assert "pip install 'daskdl[mlflow]'" in result.stderr
    assert not out.exists()
