"""``daskdl run`` without a cluster: what is refused, kept and told."""

import contextlib
import errno
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pyarrow.parquet as pq
import pytest
import yaml

from daskdl.cli import job_run, run_directory
from daskdl.cli.main import main
from daskdl.cluster.inference import Scored
from daskdl.errors import SchedulerUnreachableError, WorkerLostError
from daskdl.nn.fitting.events import (
    EpochFinished,
    FitReport,
    FitStarted,
    SpansMeasured,
    WorkerLost,
)
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.pretend_cupy import Namespace


class FakeFront:
    """Tells the events of a fit of two epochs; raises `error` after the first."""

    error: BaseException | None = None
    resumed: ClassVar[list[str | None]] = []

    def __init__(self, client, network, master):
        self.network = network
        self.master = master
        self.last_fit = FitReport(examples=80, wall_s=2.0, examples_per_s=40.0)
        self.last_fit.bytes_sent = 1234

    def fit(
        self,
        data,
        *,
        epochs,
        batch_size,
        shuffle,
        resources,
        start_timeout_s,
        listeners,
        resume,
    ):
        type(self).resumed.append(resume)
        fit = Fit(listeners, epochs, lambda: self.network)
        fit.report = self.last_fit
        if resume is not None:
            fit.resumed_from = f"{resume}/checkpoint-000001.safetensors"
        fit.begin(started())
        fit.tell(spans())
        for epoch in range(1, epochs + 1):
            fit.begin_epoch(epoch)
            if epoch == 2:
                fit.tell(lost())
            fit.end_epoch(40, 0.5, 2)
            if self.error is not None:
                raise self.error

    def score_and_evaluate(self, data, evaluations, *, start_timeout_s):
        (partition,) = data.partitions
        batch = partition.load()
        for evaluation in evaluations:
            evaluation.eval(batch.labels, self.network.output(batch.features))
        return Scored(evaluations, 5.0, batch.num_examples)


def started():
    return FitStarted(
        workers=("tcp://a", "tcp://b"), examples=40, minibatches=5, epochs=2
    )


def lost():
    return WorkerLost(
        time_s=1.0, epoch=2, worker="tcp://b", redealt_examples=16, repeated_examples=8
    )


def spans():
    return SpansMeasured(
        time_s=0.5,
        worker="tcp://b",
        member=1,
        start_s=0.0,
        stop_s=0.5,
        seconds={"compute": 0.25, "wait": 0.125},
        minibatches=2,
        clock_offset_s=0.0,
        clock_error_s=0.0,
    )


def finished(epoch):
    return EpochFinished(
        time_s=1.0, epoch=epoch, examples=40, score=0.5, wall_s=1.0, workers=2
    )


@pytest.fixture
def fake_cluster(monkeypatch):
    """Instead of a cluster: a front end that trains nothing. Returns who connected."""
    connected = []

    @contextlib.contextmanager
    def connect(options):
        connected.append(options)
        yield None

    monkeypatch.setattr(job_run, "connect", connect)
    monkeypatch.setattr(job_run, "front_end", FakeFront)
    return connected


@pytest.fixture
def run(runner, job_path, fake_cluster):
    """A function that runs the job with arguments."""
    return lambda *arguments: runner.invoke(main, ["run", job_path, *arguments])


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def test_a_run_leaves_its_files(run, out):
    run()
    assert {path.name for path in out.iterdir()} == {
        "model.safetensors",
        "evaluation.json",
        "statistics.json",
        "timeline.jsonl",
        "page.json",
        "report.html",
        "job.yaml",
    }


def test_a_run_ends_with_0(run):
    result = run()
    assert (result.exit_code, result.exception) == (0, None)


def test_json_is_the_only_line_of_stdout(run):
    (line,) = run("--json").stdout.splitlines()
    assert json.loads(line)["examples"] == 80


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("loss", 0.25),
        ("examples_per_s", 40.0),
        ("workers", 2),
        ("repeated_examples", 8),
        ("lost_workers", ["tcp://b"]),
        ("bytes_sent", 1234),
    ],
)
def test_json_tells_the_figures(run, key, value):
    assert json.loads(run("--json").stdout)[key] == value


def test_json_tells_where_the_model_is(run, out):
    assert json.loads(run("--json").stdout)["model"] == f"{out}/model.safetensors"


def test_accuracy_is_that_of_the_evaluation_file(run, out):
    from daskdl.evaluation.evaluation import Evaluation

    accuracy = json.loads(run("--json").stdout)["accuracy"]
    evaluation = Evaluation.from_json((out / "evaluation.json").read_text())
    assert evaluation.accuracy() == accuracy


def test_without_test_data_the_loss_is_the_last_score(run):
    figures = json.loads(run("--json", "data.test=").stdout)
    assert (figures["accuracy"], figures["loss"]) == (None, 0.5)


def test_test_data_without_an_example_are_refused_before_the_training(run, tmp_path):
    path = tmp_path / "test" / "part-00000.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    result = run()
    assert result.exit_code == 2
    assert "data.test: " in result.stderr
    assert "must hold at least one example, got none" in result.stderr
    assert "epoch 1" not in result.stderr


def test_a_regression_has_no_accuracy(run):
    figures = json.loads(
        run(
            "--json",
            "network.layers.1={type: output, n_out: 1, loss: mse}",
        ).stdout
    )
    assert figures["accuracy"] is None


def test_a_job_for_devices_ends_before_its_work_where_there_is_none(
    run, out, fake_cluster, monkeypatch
):
    """Nor does it leave a directory."""
    monkeypatch.delenv("DASKDL_BACKEND_PRIORITY_GPU", raising=False)
    monkeypatch.setitem(sys.modules, "cupy", None)
    result = run("cluster.type=cuda")
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if "CuPy" in line]
    assert "`daskdl doctor --gpu` tells what there is" in line
    assert fake_cluster == []
    assert list(out.parent.glob("out*")) == []


def test_a_job_for_devices_says_where_its_workers_start(run, fake_cluster, monkeypatch):
    monkeypatch.delenv("DASKDL_BACKEND_PRIORITY_GPU", raising=False)
    for name, module in {"cupy": Namespace, "dask_cuda": ModuleType("it")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    result = run("cluster.type=cuda")
    assert result.exit_code == 0
    assert "starting 1 worker on CUDA devices of this machine" in result.stderr
    assert [options.type for options in fake_cluster] == ["cuda"]


def test_progress_goes_to_stderr(run):
    assert "lost worker tcp://b" in run().stderr


def test_the_table_goes_to_stdout(run):
    assert "repeated examples  8" in run().stdout


def test_statistics_hold_the_report_of_the_fit(run, out):
    run()
    statistics = json.loads((out / "statistics.json").read_text())
    assert statistics["repeated_examples"] == 8


def test_the_job_as_it_ran_runs_again(run, runner, out, tmp_path):
    run("training.epochs=3")
    again = runner.invoke(
        main, ["run", f"{out}/job.yaml", "--output", f"{tmp_path}/again"]
    )
    assert again.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["training.epoch=3"], "training.epoch: is not a known key. Did you mean"),
        (["data.train=nowhere"], "/nowhere: the path must exist"),
        (["data.features=z"], "column 'z' must exist, it does not"),
        (["data.test=nowhere"], "/nowhere: the path must exist"),
        (["network.layers[0].n_out=0"], "network.layers[0].n_out: must be greater"),
        (["training.epochs"], "must be key=value, got 'training.epochs'"),
        (["cluster.memory_limit=lots"], "memory_limit must be a size"),
        (
            [
                "network.layers=[{type: ocnn_output, hidden_size: 3}]",
                "training.master=averaging",
            ],
            "the outputs of OCNNOutput are scores",
        ),
    ],
)
def test_bad_input_is_refused_before_a_worker_starts(
    run, fake_cluster, arguments, message
):
    result = run(*arguments)
    assert message in result.stderr
    assert (result.exit_code, fake_cluster) == (2, [])


def test_test_data_that_number_the_classes_otherwise_are_refused(
    run, fake_cluster, tmp_path
):
    for name, classes in (("train", ["no", "yes"]), ("test", ["yes", "no"])):
        (path,) = (tmp_path / name).glob("*.parquet")
        table = pq.read_table(path)
        pq.write_table(table.replace_schema_metadata(label_of_spark(classes)), path)
    result = run()
    assert "class 0 must be 'no', as in" in result.stderr
    assert (result.exit_code, fake_cluster) == (2, [])


def label_of_spark(classes):
    """Return a schema as Spark writes it beside Parquet's own."""
    attribute = {"ml_attr": {"type": "nominal", "name": "y", "vals": classes}}
    fields = [{"name": "y", "metadata": attribute}]
    row = json.dumps({"type": "struct", "fields": fields})
    return {"org.apache.spark.sql.parquet.row.metadata": row}


def test_bad_input_leaves_no_output(run, out):
    run("data.features=z")
    assert not out.exists()


def test_an_output_that_exists_is_refused(run, fake_cluster):
    run()
    result = run()
    assert "output must not exist yet" in result.stderr
    assert (result.exit_code, len(fake_cluster)) == (2, 1)


def test_an_earlier_run_may_be_overwritten(run):
    run()
    assert run("--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [(SchedulerUnreachableError("no scheduler"), 3), (KeyboardInterrupt(), 130)],
)
def test_a_run_that_does_not_connect_costs_nothing(run, out, monkeypatch, error, code):
    run()
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def connect(options):
        raise error

    monkeypatch.setattr(job_run, "connect", connect)
    assert run("--overwrite").exit_code == code
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert not list(out.parent.glob("out.*"))


def test_a_run_that_fails_keeps_its_checkpoint_beside_the_earlier_one(
    run, out, monkeypatch
):
    run()
    monkeypatch.setattr(FakeFront, "error", WorkerLostError("gone"))
    result = run("--overwrite")
    (beside,) = out.parent.glob("out.unfinished-*")
    assert f"checkpoint kept: {beside}/checkpoint-000001.safetensors" in result.stderr
    assert (out / "model.safetensors").exists()


def test_the_next_run_tells_what_an_earlier_one_left(run, out, monkeypatch):
    run()
    monkeypatch.setattr(FakeFront, "error", WorkerLostError("gone"))
    run("--overwrite")
    (beside,) = out.parent.glob("out.unfinished-*")
    assert f"beside {out} lies {beside.name}" in run().stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (WorkerLostError("Session: at least one worker must be left."), 3),
        (ZeroDivisionError("x"), 1),
    ],
    ids=["interrupt", "workers lost", "other"],
)
def test_what_ends_a_fit_keeps_the_checkpoint(run, out, monkeypatch, error, code):
    monkeypatch.setattr(FakeFront, "error", error)
    result = run()
    assert f"checkpoint kept: {out}/checkpoint-000001.safetensors" in result.stderr
    assert result.exit_code == code
    assert Path(out, "checkpoint-000001.safetensors").exists()


def test_a_kept_checkpoint_is_a_network(run, out, monkeypatch):
    from daskdl.formats.load import load

    monkeypatch.setattr(FakeFront, "error", KeyboardInterrupt())
    run()
    assert load(f"{out}/checkpoint-000001.safetensors").n_params == 26


def test_a_run_says_which_network_it_goes_on_from(run, job_path, out, monkeypatch):
    monkeypatch.setattr(FakeFront, "error", KeyboardInterrupt())
    run()
    monkeypatch.setattr(FakeFront, "error", None)
    job = yaml.safe_load(Path(job_path).read_text())
    del job["network"]
    Path(job_path).write_text(yaml.safe_dump({**job, "model": "out"}))
    result = run("--output", f"{out}2")
    assert f"going on from {out}/checkpoint-000001.safetensors" in result.stderr


def test_what_ends_a_fit_in_its_first_epoch_leaves_nothing(run, out, monkeypatch):
    def interrupted(self, data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeFront, "fit", interrupted)
    assert run().exit_code == 130
    assert not out.exists()


def test_the_options_of_the_job_reach_the_fit(run, monkeypatch):
    seen = {}

    def fit(self, data, **options):
        seen.update(options, master=self.master, normalizer=self.network.normalizer)
        self.last_fit.add(finished(1))

    monkeypatch.setattr(FakeFront, "fit", fit)
    run("training.shuffle=false", "data.normalize=standardize")
    assert seen["start_timeout_s"] == 60
    assert (seen["epochs"], seen["batch_size"], seen["shuffle"]) == (2, 8, False)
    assert type(seen["normalizer"]).__name__ == "NormalizerStandardize"
    assert type(seen["master"]).__name__ == "SharedTrainingMaster"


def test_data_go_through_the_preprocessors_of_the_job(run, monkeypatch):
    seen = []

    def fit(self, data, **options):
        seen.append(data)
        self.last_fit.add(finished(1))

    def score_and_evaluate(self, data, evaluations, *, start_timeout_s):
        seen.append(data)
        return Scored([], 5.0, 40)

    monkeypatch.setattr(FakeFront, "fit", fit)
    monkeypatch.setattr(FakeFront, "score_and_evaluate", score_and_evaluate)
    run("data.pre_processor={type: image_min_max, max_range: 3.0}")
    for source in seen:
        (one,) = source.partitions[0].through
        assert one.to_dict()["max_range"] == 3.0
    assert len(seen) == 2


def test_workers_may_take_to_come_as_long_as_the_job_says(
    run, fake_cluster, monkeypatch
):
    seen = []

    def score_and_evaluate(self, data, evaluations, *, start_timeout_s):
        seen.append(start_timeout_s)
        return Scored([], 5.0, 40)

    monkeypatch.setattr(FakeFront, "score_and_evaluate", score_and_evaluate)
    run("cluster.start_timeout_s=7", "cluster.timeout_s=3")
    assert (fake_cluster[0].start_timeout_s, fake_cluster[0].timeout_s) == (7, 3)
    assert seen == [7]


def test_a_scheduler_on_the_command_line_is_used(run, fake_cluster):
    run("--scheduler", "tcp://h:8786")
    assert fake_cluster[0].scheduler == "tcp://h:8786"


def test_the_report_draws_curves_of_the_test_data(run, out):
    run()
    page = (out / "report.html").read_text()
    assert "<h3>ROC</h3>" in page
    assert "<h3>Precision and recall</h3>" in page
    assert "<h3>Reliability</h3>" in page


@pytest.fixture
def full(monkeypatch):
    """A function that has the store be full when a file of that name is written."""

    def is_full(name):
        real = run_directory.write_output

        def write_output(path, write, **how):
            if path.endswith(name):
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(path, write, **how)

        monkeypatch.setattr(run_directory, "write_output", write_output)

    return is_full


def test_results_that_cannot_be_written_are_told(run, full):
    full("statistics.json")
    result = run()
    assert result.exit_code == 4
    assert "accuracy" in result.stderr
    assert "loss               0.25" in result.stderr
    assert "repeated examples  8" in result.stderr


def test_json_tells_results_that_cannot_be_written(run, out, full):
    full("report.html")
    line = json.loads(run("--json").stdout)
    assert (line["exit_code"], line["results"]["loss"]) == (4, 0.25)
    assert line["results"]["model"] == f"{out}/model.safetensors"


def test_json_tells_no_results_of_a_run_that_was_not_trained(run, monkeypatch):
    monkeypatch.setattr(FakeFront, "error", WorkerLostError("gone"))
    assert json.loads(run("--json").stdout) == {"error": "gone", "exit_code": 3}


def test_what_was_trained_is_told_where_the_model_cannot_be_written(
    run, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)

    def save(url, **how):
        if url.endswith("model.safetensors"):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(MultiLayerNetwork, "save", lambda self, *a, **k: save(*a, **k))
    result = run("--json")
    line = json.loads(result.stdout)
    assert (line["exit_code"], line["results"]["model"]) == (4, None)
    assert (line["results"]["examples"], line["results"]["loss"]) == (80, 0.5)
    assert "model kept: " in result.stderr


def test_an_error_names_files_as_they_are_called_once_the_run_has_ended(run, out, full):
    full("evaluation.json")
    result = run()
    assert f"error: run: {out}/evaluation.json must be written" in result.stderr
    assert "unfinished" not in result.stderr


def test_an_interrupt_before_the_first_checkpoint_is_told(run, monkeypatch):
    def interrupted(self, data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeFront, "fit", interrupted)
    assert "no checkpoint is kept: the run ended before its first" in run().stderr
