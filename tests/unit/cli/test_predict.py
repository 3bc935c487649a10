"""``daskdl predict`` and ``evaluate``: what they refuse, and what they tell."""

import contextlib
import json

import pytest
import yaml

from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.cluster import connect as connecting
from daskdl.errors import OptionError
from daskdl.nn.build import build_network
from tests.unit.cluster.inline_client import InlineClient


@pytest.fixture
def folder(job_path, tmp_path, monkeypatch):
    """A folder with model.safetensors and data; a test that starts a cluster fails."""

    @contextlib.contextmanager
    def connect(options, **how):
        pytest.fail("a cluster was started")
        yield

    monkeypatch.setattr(connecting, "connect", connect)
    monkeypatch.chdir(tmp_path)
    build_network(load_job(job_path).network).save(f"{tmp_path}/model.safetensors")
    return tmp_path


PREDICT = ["predict", "model.safetensors", "test"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PREDICT, "--key", "id", "--output", "train"], "--output must not exist yet"),
        ([*PREDICT, "--key", "id", "--output", "test"], "must lie apart from the data"),
        ([*PREDICT, "--key", "id", "--output", "test/x"], "must lie apart from the da"),
        ([*PREDICT, "--key", "id", "--output", "job.yaml/x"], "(Not a directory)"),
        ([*PREDICT, "--key", "id", "--output", "foo://x"], "one that fsspec knows"),
        (
            [*PREDICT, "--key", "id", "--output", "o", "--output-format", "orc"],
            "format must be one of 'csv', 'json', 'parquet', 'pickle', 'sequence_file'",
        ),
        ([*PREDICT, "--key", "prediction", "--output", "o"], "--key must differ"),
        ([*PREDICT, "--key", "probability_1", "--output", "o"], "--key must differ"),
        ([*PREDICT, "--key", "ids", "--output", "o"], "column 'ids' must exist"),
        (
            [*PREDICT, "--key", "id", "--output", "o", "--keep", "names"],
            "column 'names' must exist",
        ),
        (
            [*PREDICT, "--key", "id", "--key", "prediction", "--output", "o"],
            "--key must differ from the columns of the predictions, got 'prediction'",
        ),
        ([*PREDICT, "--key", "id"], "Missing option '--output'"),
        ([*PREDICT, "--output", "o"], "Missing option '--key'"),
        (["predict", "no", "test", "--key", "id", "--output", "o"], "nothing is there"),
        (["evaluate", "model.safetensors", "no"], "the path must exist"),
        (
            ["evaluate", "model.safetensors", "test", "--features", "x", "y"],
            "--features takes one column: give it again for each further one",
        ),
        (
            ["evaluate", "model.safetensors", "test", "--features", "x,y"],
            "on the command line with an option for each",
        ),
        (
            ["evaluate", "model.safetensors", "test", "--label", "z"],
            "column 'z' must exist",
        ),
        (
            ["evaluate", "model.safetensors", "test", "--start-timeout-s", "0"],
            "Invalid value for '--start-timeout-s'",
        ),
        (
            ["evaluate", "model.safetensors", "test", "--workers", "0"],
            "0 is not in the range",
        ),
    ],
)
def test_bad_input_is_refused(runner, folder, arguments, message):
    result = runner.invoke(main, arguments)
    assert message in result.stderr
    assert result.exit_code == 2


def test_an_output_that_was_begun_is_named(runner, folder):
    """It may be of a job that goes on, or of one that was killed elsewhere."""
    (folder / "o" / "_temporary" / "0").mkdir(parents=True)
    result = runner.invoke(main, [*PREDICT, "--key", "id", "--output", "o"])
    assert "got only _temporary there, of a job that goes on or was killed" in (
        result.stderr
    )
    assert "or pass --overwrite" in result.stderr
    assert result.exit_code == 2


def test_a_refused_prediction_leaves_no_output(runner, folder):
    runner.invoke(main, [*PREDICT, "--key", "ids", "--output", "o"])
    assert not (folder / "o").exists()


@pytest.fixture
def csv_folder(folder):
    """The same with data whose cells a semicolon parts, and a comma in numbers."""
    rows = ["id;x;x1;x2;y", *(f"{i};1;2;3;{i % 2}" for i in range(4))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    return folder


COLUMNS = ["--features", "x", "--features", "x1", "--features", "x2"]
COMMANDS = {
    "evaluate": ["evaluate", "model.safetensors", "data.csv", "--label", "y"],
    "predict": [
        "predict",
        "model.safetensors",
        "data.csv",
        "--key",
        "id",
        "--output",
        "o",
    ],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_delimiter_is_told_with_what_to_give(runner, csv_folder, command):
    result = runner.invoke(main, [*COMMANDS[command], *COLUMNS])
    assert "on the command line --option delimiter=';'" in result.stderr
    assert result.exit_code == 2


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["delimiter=;"], "a cluster was started"),
        (["delimiter=;", "header=false"], "column 'x' must exist"),
        (["delimeter=;"], "Did you mean 'delimiter'?"),
        (["header=perhaps"], "--option: header: must be true or false"),
        (["sample_dim=x"], "options must mean something for csv files"),
    ],
)
def test_options_say_how_data_are_stored(
    runner, csv_folder, monkeypatch, command, options, message
):
    def connect(options, **how):
        raise OptionError("a cluster was started")

    monkeypatch.setattr(connecting, "connect", connect)
    words = [word for option in options for word in ("--option", option)]
    result = runner.invoke(main, [*COMMANDS[command], *COLUMNS, *words])
    assert message in result.stderr


def test_options_of_the_training_are_left_where_they_mean_nothing(
    runner, folder, monkeypatch
):
    """A network that learnt from CSV predicts Parquet."""

    def connect(options, **how):
        raise OptionError("a cluster was started")

    monkeypatch.setattr(connecting, "connect", connect)
    job = (folder / "job.yaml").read_text()
    (folder / "job.yaml").write_text(job.replace("data:", "data:\n  delimiter: ';'", 1))
    result = runner.invoke(main, [*PREDICT, "--key", "id", "--output", "o"])
    assert "a cluster was started" in result.stderr


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_an_option_that_no_data_of_a_job_heed_is_refused(runner, folder, command):
    job = (folder / "job.yaml").read_text()
    (folder / "job.yaml").write_text(job.replace("data:", "data:\n  delimiter: ';'", 1))
    result = runner.invoke(main, [command, "job.yaml"])
    assert "options must mean something for parquet files" in result.stderr
    assert result.exit_code == 2


def test_an_option_that_some_data_of_a_job_heed_is_none_of_the_others(runner, folder):
    (folder / "test.csv").write_text("x;y\n1;0\n")
    values = yaml.safe_load((folder / "job.yaml").read_text())
    values["data"].update(test="test.csv", delimiter=";")
    (folder / "job.yaml").write_text(yaml.safe_dump(values))
    result = runner.invoke(main, ["inspect", "job.yaml"])
    assert (result.exit_code, result.stderr) == (0, "")


class LosingClient(InlineClient):
    """A client of two workers, of which one goes before the results come."""

    def __init__(self):
        super().__init__(answer=self._lose)
        self._there = {"a": 1, "b": 1}

    def nthreads(self):
        return dict(self._there)

    def _lose(self, results):
        del self._there["b"]
        return results


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "model.safetensors", "test"],
        [*PREDICT, "--key", "id", "--output", "o"],
    ],
)
def test_workers_that_went_are_told(runner, folder, monkeypatch, arguments):
    @contextlib.contextmanager
    def connect(options, **how):
        yield LosingClient()

    monkeypatch.setattr(connecting, "connect", connect)
    result = runner.invoke(main, [*arguments, "--json"])
    figures = json.loads(result.stdout)
    assert figures["workers"] == 2
    assert figures["lost_workers"] == ["b"]
    assert "2, 1 lost" in result.stderr
