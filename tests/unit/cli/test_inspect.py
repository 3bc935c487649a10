"""``daskdl inspect``."""

import json
from pathlib import Path

import pytest
import yaml

from daskdl.cli import bare_configuration
from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.nn.build import build_network
from tests.unit.formats import onnx_graphs

# Dense, batch normalization and output; trained, with a normalizer.
TRAINED = Path(__file__).parents[2] / "data" / "formats" / "trained.safetensors"


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


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("cluster", "memory_limit", "lots", "memory_limit must be a size"),
        ("network", "optimization_algo", "lbfgs", "optimization_algo must be"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "run"])
def test_a_job_that_no_cluster_can_do_is_refused_as_run_does(
    runner, job_path, command, section, key, value, message
):
    job = yaml.safe_load(Path(job_path).read_text())
    job.setdefault(section, {})[key] = value
    job["training"].pop("master", None)
    job["training"].pop("averaging_frequency", None)
    Path(job_path).write_text(yaml.safe_dump(job))
    result = runner.invoke(main, [command, job_path])
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_output_that_exists_is_told(runner, job_path, tmp_path):
    (tmp_path / "out").mkdir()
    shown = runner.invoke(main, ["inspect", job_path]).stdout
    assert f"output: {tmp_path}/out exists, run with --overwrite" in shown


def test_a_model_is_told(facts_of, model):
    facts = facts_of(model)
    assert (facts["kind"], facts["network"]) == ("model", "MultiLayerNetwork")


def test_a_model_is_told_layer_by_layer(facts_of, model):
    facts = facts_of(model)
    assert facts["layers"][0] == {
        "name": "layer0",
        "type": "Dense",
        "reads": ["input"],
        "in": "rows of 3",
        "out": "rows of 4",
        "parameters": 16,
        "shapes": {"W": [3, 4], "b": [4]},
    }


def test_losses_updaters_and_counters_are_told(facts_of, model):
    facts = facts_of(model)
    assert facts["losses"] == {"layer1": "mcxent"}
    assert facts["updaters"][0].startswith("{type: adam, learning_rate: 0.01")
    assert (facts["iterations"], facts["score"], facts["updater_state"]) == (
        0,
        None,
        52,
    )


def test_people_get_a_table(runner, model):
    lines = runner.invoke(main, ["inspect", str(model)]).stdout.splitlines()
    assert lines[2] == "MultiLayerNetwork, 26 parameters"
    assert lines[3].split() == ["name", "type", "in", "out", "parameters", "shapes"]
    assert "trained: 0 epochs, 0 iterations" in lines
    assert "normalizer: none" in lines


def test_the_score_of_a_trained_network_is_told(runner):
    stdout = runner.invoke(main, ["inspect", str(TRAINED)]).stdout
    assert "trained: 3 epochs, 3 iterations, score 0.838339" in stdout
    assert "normalizer: NormalizerStandardize" in stdout


def test_models_of_dl4j_are_told(runner, facts_of, tmp_path):
    runner.invoke(main, ["convert", str(TRAINED), str(tmp_path / "dl4j.zip")])
    facts = facts_of(tmp_path / "dl4j.zip")
    assert (facts["kind"], facts["parameters"], facts["epochs"]) == ("model", 35, 3)


@pytest.mark.parametrize("ending", [".json", ".yaml"])
def test_bare_configurations_of_dl4j_are_told(runner, facts_of, tmp_path, ending):
    path = tmp_path / f"conf{ending}"
    runner.invoke(main, ["convert", str(TRAINED), str(path)])
    facts = facts_of(path)
    assert (facts["kind"], facts["parameters"]) == ("configuration", 35)
    assert "iterations" not in facts


def test_configurations_of_graphs_are_told(runner, tmp_path):
    network = onnx_graphs.two_outputs()
    network.save(str(tmp_path / "net.zip"), format="dl4j")
    path = tmp_path / "graph.json"
    runner.invoke(main, ["convert", str(tmp_path / "net.zip"), str(path)])
    lines = runner.invoke(main, ["inspect", str(path)]).stdout.splitlines()
    assert f"configuration of DL4J {path}" in lines
    assert "input a: rows of 6" in lines
    assert "loss: y mcxent, x mcxent" in lines


def test_a_configuration_that_is_no_text_is_refused(runner, tmp_path):
    path = tmp_path / "conf.json"
    path.write_bytes(b'{"confs": "\xff"}')
    result = runner.invoke(main, ["inspect", str(path)])
    assert (result.exit_code, "must be text in UTF-8" in result.stderr) == (2, True)


def test_a_configuration_without_end_is_refused(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(bare_configuration, "_MOST_BYTES", 10)
    path = tmp_path / "conf.json"
    path.write_text('{"confs": []}')
    result = runner.invoke(main, ["inspect", str(path)])
    assert "conf.json: must have at most 10 bytes, got more" in result.stderr


def test_a_network_is_drawn(runner, model, tmp_path):
    picture = tmp_path / "net.svg"
    assert (
        runner.invoke(main, ["inspect", str(model), "--svg", str(picture)]).exit_code
        == 0
    )
    assert picture.read_text(encoding="utf-8").startswith("<svg ")


def test_a_picture_is_replaced_on_demand(runner, model, tmp_path):
    words = ["inspect", str(model), "--svg", str(tmp_path / "net.svg")]
    runner.invoke(main, words)
    again = runner.invoke(main, words)
    assert (again.exit_code, "must not exist yet" in again.stderr) == (2, True)
    assert runner.invoke(main, [*words, "--overwrite"]).exit_code == 0


def test_there_is_no_picture_of_data(runner, tmp_path, job_path):
    words = ["inspect", str(tmp_path / "train"), "--svg", str(tmp_path / "net.svg")]
    result = runner.invoke(main, words)
    assert "inspect: --svg must meet a network, got data" in result.stderr
    assert not (tmp_path / "net.svg").exists()


def test_a_run_is_told_with_its_files(facts_of, model):
    facts = facts_of(model.parent)
    assert (facts["kind"], facts["files"]) == ("run", ["model.safetensors"])


def test_a_checkpoint_of_a_run_is_told(runner, facts_of, model):
    model.rename(model.parent / "checkpoint-000001.safetensors")
    assert facts_of(model.parent)["kind"] == "run"


def test_a_run_without_a_network_is_no_data(runner, model):
    model.unlink()
    (model.parent / "job.yaml").touch()
    result = runner.invoke(main, ["inspect", str(model.parent)])
    assert "a run that has not finished an epoch" in result.stderr


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


def test_json_tells_of_a_path_without_anything(facts_of, tmp_path):
    assert facts_of(tmp_path / "no")["exit_code"] == 2


@pytest.mark.parametrize(
    "name",
    ["x", "x.parquet", "x.csv", "x.json", "x.libsvm", "x.orc", "x.zip", "x.yaml"],
)
def test_an_empty_file_is_bad_input(runner, tmp_path, name):
    (tmp_path / name).touch()
    result = runner.invoke(main, ["inspect", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "the file is empty" in result.stderr


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_bad_input(runner, path):
    result = runner.invoke(main, ["inspect", path])
    assert result.exit_code == 2
    assert "must be a file or a directory, got a device" in result.stderr


def test_an_empty_directory_is_bad_input(runner, tmp_path):
    result = runner.invoke(main, ["inspect", str(tmp_path)])
    assert result.exit_code == 2
    assert "it must hold data files" in result.stderr


def test_a_file_of_no_known_form_is_bad_input(runner, tmp_path):
    (tmp_path / "x").write_bytes(b"\x89")
    result = runner.invoke(main, ["inspect", str(tmp_path / "x")])
    assert result.exit_code == 2
    assert "the name must end in" in result.stderr


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_damaged_columns_are_bad_input(runner, tmp_path, ending):
    (tmp_path / f"x.{ending}").write_bytes(b"no columns")
    result = runner.invoke(main, ["inspect", str(tmp_path / f"x.{ending}")])
    assert result.exit_code == 2
    assert f"must be a whole {ending} file" in result.stderr.lower()
