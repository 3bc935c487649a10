"""``daskdl report``: the page of a run once more."""

import contextlib
import json

import pytest

from daskdl.cli import job_run
from daskdl.cli.main import main
from daskdl.cli.run_page import remade_page
from tests.unit.cli.test_run import FakeFront


@pytest.fixture
def trained(runner, job_path, tmp_path, monkeypatch):
    """A function that makes a run directory, and returns it."""

    @contextlib.contextmanager
    def connect(options):
        yield None

    def train(*changes):
        monkeypatch.setattr(job_run, "connect", connect)
        monkeypatch.setattr(job_run, "front_end", FakeFront)
        result = runner.invoke(main, ["run", job_path, *changes])
        assert (result.exit_code, result.stderr.count("error")) == (0, 0)
        return tmp_path / "out"

    return train


@pytest.fixture
def report(runner):
    """A function that calls the command."""
    return lambda *arguments: runner.invoke(main, ["report", *map(str, arguments)])


NUMBERS = ["network.layers.1={type: output, n_out: 1, loss: mse}"]


@pytest.mark.parametrize("changes", [[], ["data.test="], NUMBERS])
def test_the_page_is_remade_as_it_was(trained, report, changes):
    run = trained(*changes)
    before = (run / "report.html").read_text()
    (run / "report.html").unlink()
    assert report(run).exit_code == 0
    assert (run / "report.html").read_text() == before
    assert "<h2>Timeline</h2>" in before


def test_it_goes_where_it_is_to(trained, report, tmp_path):
    run = trained()
    result = report(run, "--output", tmp_path / "page.html", "--json")
    assert json.loads(result.stdout) == {"report": str(tmp_path / "page.html")}
    assert (tmp_path / "page.html").read_text() == (run / "report.html").read_text()


def test_a_file_that_is_there_stays_unless_it_is_to_be_replaced(
    trained, report, tmp_path
):
    run, page = trained(), tmp_path / "page.html"
    page.write_text("mine")
    refused = report(run, "--output", page)
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert page.read_text() == "mine"
    assert report(run, "--output", page, "--overwrite").exit_code == 0


def test_runs_of_earlier_versions_have_a_page_too(trained, report):
    run = trained()
    for name in ("page.json", "timeline.jsonl", "report.html"):
        (run / name).unlink()
    assert report(run).exit_code == 0
    page = (run / "report.html").read_text()
    assert "Timeline" not in page
    for text in ("Confusion matrix", "accuracy", "MultiLayerNetwork", "epochs: 2"):
        assert text in page


def test_an_old_run_without_test_data_has_a_page_too(trained):
    run = trained("data.test=")
    (run / "page.json").unlink()
    assert "Evaluation" not in remade_page(str(run))


def test_scores_that_were_no_numbers_are_shown(trained):
    run = trained()
    statistics = json.loads((run / "statistics.json").read_text())
    statistics["epochs"][0]["score"] = None
    statistics["epochs"][0]["values"] = {"loss": None}
    (run / "statistics.json").write_text(json.dumps(statistics))
    assert "<td>nan</td>" in remade_page(str(run))


def test_nothing_there_is_refused(report, tmp_path):
    result = report(tmp_path / "nothing")
    assert result.exit_code == 2
    assert "report: RUN must be the directory of a run, nothing is at" in result.stderr


def test_a_directory_of_something_else_is_refused(report, tmp_path):
    result = report(tmp_path)
    assert result.exit_code == 2
    assert "(with statistics.json), got" in result.stderr


def test_a_run_that_was_cut_short_is_told_how_to_go_on(trained, report):
    run = trained()
    (run / "statistics.json").unlink()
    result = report(run)
    assert result.exit_code == 2
    assert f"Go on with: daskdl run --resume {run}" in result.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("statistics.json", "{"),
        ("statistics.json", "[]"),
        ("statistics.json", '{"epochs": [{"epoch": 1}]}'),
        ("timeline.jsonl", ""),
        ("timeline.jsonl", "{"),
        ("page.json", "{}"),
        ("page.json", '{"format": "daskdl-page", "version": 1}'),
    ],
)
def test_damaged_files_are_named(trained, report, name, text):
    run = trained()
    (run / name).write_text(text)
    result = report(run)
    assert result.exit_code == 2
    assert f"report: {run}/{name} must be what a run wrote" in result.stderr


def test_a_damaged_evaluation_of_an_old_run_is_named(trained, report):
    run = trained()
    (run / "page.json").unlink()
    (run / "evaluation.json").write_text("{}")
    assert f"{run}/evaluation.json must be" in report(run).stderr
