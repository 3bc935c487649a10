"""A job that evaluates beside the training, and ends in time; in this process."""

import contextlib
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import daskdl as dl
from daskdl.cli import job_run
from daskdl.cli.job import Job
from daskdl.cli.job_early_stopping import EarlyStoppingOptions
from daskdl.cli.main import main
from daskdl.cli.progress import View
from daskdl.cluster.inference import Scored
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting import fit
from daskdl.nn.tallies import ScoreTally, tally_here
from tests.unit.cli.test_job import refusal

HELD_BACK = {"validation": "test"}


class Here:
    """A front end that trains in this process."""

    def __init__(self, client, network, master):
        self.network = network

    def fit(self, data, *, listeners, resources, start_timeout_s, **how):
        # Of a fit in one process there are no workers to show.
        heard = [one for one in listeners if not isinstance(one, View)]
        self.network.fit(data, listeners=heard, **how)

    @property
    def last_fit(self):
        return self.network.last_fit

    def score_and_evaluate(self, data, evaluations, **how):
        found = tally_here(self.network, data, ScoreTally(evaluations))
        return Scored(found.evaluations, found.loss_sum, found.examples)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def run(runner, job_path, job_values, monkeypatch):
    """Return a function that runs the job, of which some sections say more."""

    @contextlib.contextmanager
    def connect(options):
        yield None

    def tally(network, data, empty, *, start_timeout_s, **how):
        return tally_here(network, data, empty, **how)

    monkeypatch.setattr(job_run, "connect", connect)
    monkeypatch.setattr(job_run, "front_end", Here)
    monkeypatch.setattr(fit, "tally_here", tally)

    def call(*arguments, data=HELD_BACK, **training):
        values = {**job_values}
        values["data"] = {**values["data"], **data}
        values["training"] = {**values["training"], **training}
        with open(job_path, "w") as stream:
            yaml.safe_dump(values, stream)
        return runner.invoke(main, ["run", job_path, *arguments])

    return call


def test_the_network_is_evaluated_beside_the_training(run, out):
    result = run()
    assert result.exit_code == 0, result.output
    epochs = json.loads((out / "statistics.json").read_text())["epochs"]
    names = {"validation_loss", "validation_accuracy"}
    assert [set(epoch["values"]) for epoch in epochs] == [names, names]
    assert "validation_loss" in (out / "report.html").read_text()
    assert dl.load(out / "model.safetensors").epoch_count == 2


def test_epochs_between_are_not_evaluated(run, out):
    run(epochs=5, validation={"every_n_epochs": 2})
    epochs = json.loads((out / "statistics.json").read_text())["epochs"]
    evaluated = [epoch["epoch"] for epoch in epochs if epoch["values"]]
    assert evaluated == [2, 4, 5]


def test_the_best_network_is_kept(run, out):
    """Of a rate at which the loss soon grows again."""
    stopping = {"max_epochs_with_no_improvement": 3}
    result = run(
        "--json",
        "network.updater.learning_rate=1.0",
        epochs=200,
        early_stopping=stopping,
    )
    told = json.loads(result.stdout)
    assert told["ended_by"].startswith("ScoreImprovementEpochTerminationCondition(")
    statistics = json.loads((out / "statistics.json").read_text())
    stopped = statistics["early_stopping"]
    assert stopped["total_epochs"] == len(statistics["epochs"]) < 200
    assert stopped["best_model_epoch"] == told["best_epoch"]
    assert stopped["total_epochs"] == told["best_epoch"] + 3
    assert stopped["score_vs_epoch"][str(told["best_epoch"])] == told["best_score"]
    model = dl.load(out / "model.safetensors")
    assert model.epoch_count == told["best_epoch"]
    # The test data of the job are the same.
    assert told["loss"] == pytest.approx(told["best_score"])
    page = (out / "report.html").read_text()
    assert "best epoch" in page


def test_a_run_that_was_killed_behind_its_training_keeps_the_best(
    run, out, monkeypatch
):
    def lost(self, *_, **__):
        raise WorkerLostError("all went.")

    options = {
        "epochs": 200,
        "early_stopping": {"max_epochs_with_no_improvement": 3},
    }
    rate = "network.updater.learning_rate=1.0"
    with monkeypatch.context() as patch:
        patch.setattr(job_run.RunDirectory, "save_model", lost)
        run(rate, **options)
    result = run(rate, "--resume", str(out), "--json", **options)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    model = dl.load(out / "model.safetensors")
    assert model.epoch_count == told["best_epoch"]
    assert told["loss"] == pytest.approx(told["best_score"])
    assert np.isfinite(model.params).all()


@pytest.mark.parametrize("section", ["validation", "early_stopping"])
def test_there_must_be_data_to_validate_on(job_values, section):
    job_values["training"][section] = {}
    assert refusal(job_values) == (
        f"data.validation: must be given for `training.{section}`, got none."
    )


def test_a_score_that_does_not_go_with_the_loss_is_refused(run, out):
    result = run(early_stopping={"score": "mse"})
    assert "training.early_stopping.score: " in result.stderr
    assert "loss must be one of values" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("score", "acuracy", "score: must be .*acuracy"),
        ("patience", 3, "early_stopping.patience: is not a known key"),
        ("max_time_s", 0, "max_time_s: must be greater than 0"),
        ("min_improvement", -1, "min_improvement: must be "),
    ],
)
def test_keys_are_refused(job_values, key, value, message):
    job_values["data"] |= HELD_BACK
    job_values["training"]["early_stopping"] = {key: value}
    assert re.search(message, refusal(job_values))


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        ("loss", dl.DataSetLossCalculator),
        ("F1", dl.ClassificationScoreCalculator),
        ("far", dl.ClassificationScoreCalculator),
        ("R2", dl.RegressionScoreCalculator),
        ("AUC", dl.ROCScoreCalculator),
    ],
)
def test_each_score_has_its_calculator(score, kind):
    options = EarlyStoppingOptions(score=score)
    assert type(options.score_calculator(None)) is kind


def test_each_key_makes_its_condition(job_values):
    job_values["data"] |= HELD_BACK
    job_values["training"]["early_stopping"] = {
        "max_epochs_with_no_improvement": 3,
        "min_improvement": 0.1,
        "best_expected_score": 0.5,
        "max_time_s": 60,
        "max_score": 9,
        "invalid_score": True,
    }
    options = Job.model_validate(job_values).training.early_stopping
    assert [repr(one) for one in options.conditions()] == [
        repr(dl.ScoreImprovementEpochTerminationCondition(3, 0.1)),
        repr(dl.BestScoreEpochTerminationCondition(0.5)),
        repr(dl.MaxTimeIterationTerminationCondition(60.0)),
        repr(dl.MaxScoreIterationTerminationCondition(9.0)),
        repr(dl.InvalidScoreIterationTerminationCondition()),
    ]


def test_bad_validation_data_end_a_job_before_it_trains(run, out, tmp_path, rng):
    folder = tmp_path / "narrow"
    folder.mkdir()
    narrow = pa.table({"x": pa.array([[0.0, 1.0]] * 4), "y": [0, 1, 0, 1]})
    pq.write_table(narrow, folder / "part-00000.parquet")
    (folder / "_SUCCESS").touch()
    result = run(data={"validation": "narrow"})
    assert result.exit_code == 2
    assert "validation: " in result.stderr
    assert "3 numbers an example, got 2" in result.stderr
    assert not list(tmp_path.glob("**/checkpoint-*"))
