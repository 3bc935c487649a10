"""``daskdl inspect``."""

import json

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.cli.stored_columns import stored_columns
from daskdl.nn.build import build_network


@pytest.fixture
def facts_of(runner):
    """A function that returns what ``inspect --json`` tells."""
    return lambda path: json.loads(
        runner.invoke(main, ["inspect", str(path), "--json"]).stdout
    )


@pytest.fixture
def model(job_path, tmp_path):
    network = build_network(load_job(job_path).network)
    path = tmp_path / "run" / "model.safetensors"
    path.parent.mkdir()
    network.save(str(path))
    return path


def test_a_job_is_told_with_its_network_and_rows(facts_of, job_path):
    facts = facts_of(job_path)
    assert (facts["kind"], facts["parameters"], facts["train"]["rows"]) == (
        "job",
        26,
        40,
    )


def test_a_wrong_job_is_refused_as_run_does(runner, job_path, tmp_path):
    (tmp_path / "train" / "part-00000.parquet").unlink()
    assert runner.invoke(main, ["inspect", job_path]).exit_code == 2


def test_a_model_is_told(facts_of, model):
    facts = facts_of(model)
    assert (facts["kind"], facts["network"]) == ("model", "MultiLayerNetwork")


def test_a_run_is_told_with_its_files(facts_of, model):
    facts = facts_of(model.parent)
    assert (facts["kind"], facts["files"]) == ("run", ["model.safetensors"])


def test_a_run_that_was_cut_short_is_told(runner, model):
    shown = runner.invoke(main, ["inspect", str(model.parent)]).stdout
    assert "statistics.json is missing: the run was cut short" in shown


def test_data_are_told_with_columns_and_rows(facts_of, job_path, tmp_path):
    facts = facts_of(tmp_path / "train")
    assert (list(facts["columns"]), facts["rows"]) == (["id", "x", "y"], 40)


def test_nothing_is_refused(runner, tmp_path):
    result = runner.invoke(main, ["inspect", str(tmp_path / "none")])
    assert (result.exit_code, "must exist, nothing is there" in result.stderr) == (
        2,
        True,
    )


def test_a_vector_of_spark_is_told_by_its_name(tmp_path):
    fields = ("type", "size", "indices", "values")
    vector = dict.fromkeys(fields, 1)
    pq.write_table(pa.table({"v": [vector]}), tmp_path / "a.parquet")
    assert stored_columns(str(tmp_path)) == {"v": "vector"}


def test_columns_of_orc_are_told(tmp_path):
    pyarrow.orc.write_table(pa.table({"a": [1]}), tmp_path / "part-0.orc")
    assert stored_columns(str(tmp_path)) == {"a": "int64"}


def test_columns_of_csv_are_told(tmp_path):
    (tmp_path / "part-0.csv").write_text("a,b\n1,2\n")
    assert list(stored_columns(str(tmp_path))) == ["a", "b"]


def test_columns_of_json_are_told(tmp_path):
    (tmp_path / "part-0.json").write_text('{"a": 1, "b": 2}\n{"a": 3}\n')
    assert list(stored_columns(str(tmp_path))) == ["a", "b"]


def test_markers_are_not_data(tmp_path):
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "k=1").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "k=1" / "part-0.parquet")
    assert stored_columns(str(tmp_path)) == {"a": "int64"}


def test_an_empty_directory_has_no_columns(tmp_path):
    assert stored_columns(str(tmp_path)) == {}


def test_json_tells_of_a_path_without_anything(facts_of, tmp_path):
    assert facts_of(tmp_path / "no")["exit_code"] == 2
