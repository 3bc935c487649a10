"""A job that pretrains layers in front of the training, or does nothing else."""

import contextlib
import json
import re
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

import daskdl as dl
from daskdl.cli import job_run
from daskdl.cli.job import Job
from daskdl.cli.main import main
from daskdl.cli.progress import EventLines, View
from daskdl.cluster.inference import Scored
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting.events import FitStarted
from daskdl.nn.pretraining import LayerPretraining
from daskdl.nn.tallies import ScoreTally, tally_here
from tests.unit.cli.test_job import refusal

LAYERS = [
    {"type": "auto_encoder", "name": "first", "n_out": 4, "activation": "tanh"},
    {"type": "auto_encoder", "name": "second", "n_out": 2, "activation": "tanh"},
    {"type": "output", "n_out": 2},
]


class Here:
    """A front end that trains in this process, and notes what it was asked for."""

    calls: list[tuple[str, object, int]]

    def __init__(self, client, network, master):
        self.network = network

    def pretrain(self, data, **how):
        self.calls.append(("pretrain", how["layers"], how["epochs"]))
        self.network.pretrain(data, **_here(how))

    def fit(self, data, **how):
        self.calls.append(("fit", None, how["epochs"]))
        self.network.fit(data, **_here(how))

    @property
    def last_fit(self):
        return self.network.last_fit

    def score_and_evaluate(self, data, evaluations, **how):
        found = tally_here(self.network, data, ScoreTally(evaluations))
        return Scored(found.evaluations, found.loss_sum, found.examples)


def _here(how):
    """Return arguments as one process takes them; there are no workers to show."""
    heard = [one for one in how["listeners"] if not isinstance(one, View)]
    of_cluster = ("resources", "start_timeout_s")
    left = {name: value for name, value in how.items() if name not in of_cluster}
    return {**left, "listeners": heard}


@pytest.fixture
def calls():
    return []


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def run(runner, job_path, job_values, monkeypatch, calls):
    """Return a function that runs the job with what its training and data say more."""

    @contextlib.contextmanager
    def connect(options):
        yield None

    monkeypatch.setattr(job_run, "connect", connect)
    monkeypatch.setattr(job_run, "front_end", Here)
    monkeypatch.setattr(Here, "calls", calls, raising=False)

    def called(*arguments, data=None, layers=LAYERS, **training):
        job_values["network"]["layers"] = layers
        job_values["training"] |= training
        job_values["data"] |= data or {}
        with open(job_path, "w") as file:
            yaml.safe_dump(job_values, file)
        return runner.invoke(main, ["run", job_path, *arguments])

    return called


def test_layers_are_pretrained_in_front_of_the_training(run, calls):
    result = run(pretrain={"epochs": 3})
    assert result.exit_code == 0, result.output
    assert calls == [("pretrain", None, 3), ("fit", None, 2)]


def test_layers_may_be_named(run, calls):
    result = run(pretrain={"layers": ["second", "first"]})
    assert result.exit_code == 0, result.output
    assert calls == [("pretrain", ("second", "first"), 1), ("fit", None, 2)]


def test_a_job_may_do_nothing_but_pretrain(run, calls, out, job_values):
    """Then no label is needed, nor named."""
    del job_values["data"]["test"], job_values["data"]["label"]
    result = run("--json", epochs=0, pretrain={"epochs": 2})
    assert result.exit_code == 0, result.output
    assert calls == [("pretrain", None, 2)]
    model = dl.load(out / "model.safetensors")
    assert (model.params != dl.MultiLayerNetwork(model.conf).params).any()
    assert json.loads(result.stdout)["examples"] == 80


def test_other_data_may_be_pretrained_on(run, out, tmp_path, job_path):
    """Which have no column of labels."""
    table = pq.read_table(tmp_path / "test" / "part-00000.parquet", columns=["x"])
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "_SUCCESS").touch()
    pq.write_table(table, tmp_path / "more" / "part-00000.parquet")
    result = run(data={"pretrain": "more"}, pretrain={})
    assert result.exit_code == 0, result.output
    assert f"pretraining on {tmp_path / 'more'}" in result.stderr


def lost_at(monkeypatch, minibatch):
    """Let all workers go at a minibatch of the run, pretraining included."""
    left = [minibatch]

    def counted(original):
        def train_minibatch(self, *args, **how):
            left[0] -= 1
            if not left[0]:
                raise WorkerLostError("all went.")
            return original(self, *args, **how)

        return train_minibatch

    for kind in (LayerPretraining, dl.MultiLayerNetwork):
        one = counted(kind.train_minibatch)
        monkeypatch.setattr(kind, "train_minibatch", one)


# 3 minibatches an epoch: 9 of each of two layers, and 6 of the network.
@pytest.mark.parametrize("minibatch", [5, 9, 10, 14, 18, 19, 23])
def test_a_run_goes_on_where_it_was(run, calls, out, monkeypatch, minibatch):
    options = {"pretrain": {"epochs": 3}, "batch_size": 16}
    run(**options)
    whole = dl.load(out / "model.safetensors")
    shutil.rmtree(out)
    with monkeypatch.context() as patch:
        lost_at(patch, minibatch)
        result = run(**options)
    assert result.exit_code == 3, result.output
    assert "checkpoint kept: " in result.stderr
    calls.clear()
    result = run("--resume", str(out), **options)
    assert result.exit_code == 0, result.output
    pretraining = [("pretrain", None, 3)] if minibatch <= 18 else []
    assert calls == [*pretraining, ("fit", None, 2)]
    model = dl.load(out / "model.safetensors")
    np.testing.assert_array_equal(model.params, whole.params)
    np.testing.assert_array_equal(model.updater_state, whole.updater_state)
    assert not list(out.glob("checkpoint-*"))


def test_a_job_that_does_nothing_but_pretrain_goes_on(
    run, calls, out, monkeypatch, job_values
):
    del job_values["data"]["test"], job_values["data"]["label"]
    options = {"epochs": 0, "pretrain": {"epochs": 3, "layers": ["second", "first"]}}
    run(**options)
    whole = dl.load(out / "model.safetensors")
    shutil.rmtree(out)
    with monkeypatch.context() as patch:
        lost_at(patch, 13)
        run(**options)
    result = run("--resume", str(out), **options)
    assert result.exit_code == 0, result.output
    model = dl.load(out / "model.safetensors")
    np.testing.assert_array_equal(model.params, whole.params)


def test_a_run_amid_pretraining_has_no_network_to_look_at(
    run, runner, out, monkeypatch
):
    with monkeypatch.context() as patch:
        lost_at(patch, 8)
        run(pretrain={"epochs": 3})
    result = runner.invoke(main, ["inspect", str(out)])
    assert result.exit_code == 2
    message = "got a checkpoint of the pretraining of 'first', 'second'. Go on with it"
    assert message in result.stderr


def test_pretraining_for_other_epochs_is_not_gone_on_with(run, out, monkeypatch):
    with monkeypatch.context() as patch:
        lost_at(patch, 8)
        run(pretrain={"epochs": 3})
    began = (out / "job.yaml").read_text()
    result = run("--resume", str(out), pretrain={"epochs": 4})
    assert result.exit_code == 2
    assert "must go on with the epochs of the run, 3, got 4" in result.stderr
    assert list(out.glob("checkpoint-*"))
    # So that --resume alone still goes on.
    assert (out / "job.yaml").read_text() == began
    result = run("--resume", str(out), pretrain={"epochs": 3})
    assert result.exit_code == 0, result.output


def test_a_job_that_goes_on_amid_pretraining_must_have_it(run, out, monkeypatch):
    with monkeypatch.context() as patch:
        lost_at(patch, 8)
        run(pretrain={"epochs": 3})
    result = run("--resume", str(out), pretrain=None)
    assert result.exit_code == 2
    assert "training.pretrain must stay as it was with --resume" in result.stderr


def test_the_job_lies_there_as_it_went_on(run, out, monkeypatch):
    with monkeypatch.context() as patch:
        lost_at(patch, 8)
        run(pretrain={"epochs": 3})
    run("--resume", str(out), pretrain={"epochs": 3}, epochs=3)
    assert "epochs: 3" in (out / "job.yaml").read_text().split("training:")[1]
    assert dl.load(out / "model.safetensors").epoch_count == 3


def test_a_run_that_goes_on_does_not_pretrain_again(run, calls, out, monkeypatch):
    """Its first checkpoint is of what pretraining gave."""

    def lost(self, *_, **__):
        raise WorkerLostError("all went.")

    with monkeypatch.context() as patch:
        patch.setattr(dl.MultiLayerNetwork, "train_minibatch", lost)
        run(pretrain={})
    assert [name for name, _, _ in calls] == ["pretrain", "fit"]
    result = run("--resume", str(out), pretrain={})
    assert result.exit_code == 0, result.output
    assert [name for name, _, _ in calls] == ["pretrain", "fit", "fit"]
    model = dl.load(out / "model.safetensors")
    assert np.isfinite(model.params).all()
    assert model.epoch_count == 2


def test_a_network_without_such_a_layer_is_refused_before_the_cluster(run, out):
    dense = [{"type": "dense", "n_out": 4}, LAYERS[-1]]
    result = run(layers=dense, pretrain={})
    assert result.exit_code == 2
    message = r"training\.pretrain: the network must have a layer that can be"
    assert re.search(message, result.stderr)
    assert not out.exists()


def test_a_layer_that_is_not_there_is_refused(run):
    result = run(pretrain={"layers": "third"})
    assert result.exit_code == 2
    assert "must be one that can be pretrained ('first', 'second')" in result.stderr


REFUSED = {
    "no epochs": (
        {"training": {"epochs": 0}},
        r"training\.epochs: must be at least 1 without `pretrain`, got 0",
    ),
    "test data": (
        {"training": {"epochs": 0, "pretrain": {}}},
        r"data\.test: must be left out with `training\.epochs` 0",
    ),
    "data alone": (
        {"data": {"train": "train", "pretrain": "more"}},
        r"data\.pretrain: must be left out without `training\.pretrain`",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_keys_that_do_not_go_together_are_refused(job_values, case):
    changes, message = REFUSED[case]
    assert re.search(message, refusal({**job_values, **changes}))


def test_a_job_is_read_again_as_it_was_written(job_values):
    job_values["training"]["pretrain"] = {"epochs": 3, "layers": ["first"]}
    job = Job.model_validate(job_values)
    assert Job.model_validate(job.model_dump(by_alias=True)) == job


def test_a_line_says_which_layer_is_pretrained():
    started = FitStarted(
        workers=("a", "b"), examples=40, minibatches=5, epochs=2, layer="first"
    )
    assert EventLines().text(started) == (
        "pretraining first on 40 examples in 5 minibatches, 2 epochs, on 2 workers"
    )
