"""``daskdl doctor``."""

import importlib.metadata
import json
import sys

import pytest
import yaml
from packaging.requirements import Requirement

import daskdl.spark
from daskdl.cli import doctor_checks, warming
from daskdl.cli.finding import Finding
from daskdl.cli.main import main
from daskdl.kernels.machine_code import cache_directory
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import configuration_from_dict


@pytest.fixture
def doctor(runner, monkeypatch):
    """A function that runs the command with findings of our own."""

    def run(*findings, arguments=("--json",)):
        monkeypatch.setattr(doctor_checks, "check_here", lambda: list(findings))
        return runner.invoke(main, ["doctor", *arguments])

    return run


def test_all_well_ends_with_0(doctor):
    assert doctor(Finding("a", "1")).exit_code == 0


def test_what_is_needed_and_missing_ends_with_1(doctor):
    assert doctor(Finding("a", "none", is_ok=False)).exit_code == 1


def test_what_is_optional_and_missing_ends_with_0(doctor):
    assert doctor(Finding("a", "none", is_ok=False, is_needed=False)).exit_code == 0


def test_what_is_missing_is_told_how_to_get(doctor):
    finding = Finding("a", "none", is_ok=False, to_do="pip install 'daskdl[hdfs]'")
    assert "pip install 'daskdl[hdfs]'" in doctor(finding, arguments=()).stdout


def test_off_a_terminal_a_message_is_one_line(doctor, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    told = "scheduler and workers must run the client's versions. " * 5
    finding = Finding("scheduler tcp://127.0.0.1:8786", told, is_ok=False, to_do="it")
    lines = doctor(Finding("a", "1"), finding, arguments=()).stdout.splitlines()
    assert told in lines[2]


def test_json_is_one_line(doctor):
    (line,) = doctor(Finding("a", "1")).stdout.splitlines()
    assert json.loads(line) == {
        "healthy": True,
        "checks": {"a": {"ok": True, "level": "ok", "found": "1"}},
    }


def test_every_dependency_is_looked_at(doctor):
    found = {finding.what for finding in doctor_checks.check_here()}
    needed = {
        Requirement(text).name
        for text in importlib.metadata.requires("daskdl")
        if ";" not in text
    }
    assert needed <= found


def test_a_plug_in_that_does_not_load_is_a_failure(monkeypatch):
    broken = importlib.metadata.EntryPoint("x", "no_such_module", "g")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [broken])
    (finding, *_) = doctor_checks._plugins()
    assert finding.is_failure
    assert "x: No module named 'no_such_module'" in finding.found


def test_spark_without_pyspark_is_refused_before_anything(doctor, monkeypatch):
    broken = importlib.metadata.EntryPoint("doctor", "pyspark.none", "daskdl.spark")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [broken])
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(vars(daskdl.spark), "doctor", raising=False)
    result = doctor(arguments=("--spark",))
    assert result.exit_code == 2
    assert "needs pyspark. Run: pip install 'daskdl[spark]'" in result.stderr


def test_what_is_wrong_tells_programs_what_to_do(doctor):
    result = doctor(Finding("a", "none", is_ok=False, to_do="get it"))
    told = json.loads(result.stdout)["checks"]["a"]
    assert told == {"ok": False, "level": "error", "found": "none", "to_do": "get it"}


@pytest.fixture
def network_path(tmp_path, job_values):
    network = build_network(configuration_from_dict(job_values["network"]))
    path = str(tmp_path / "network.daskdl")
    network.save(path)
    return path


def test_warming_compiles_for_a_job_without_its_data(runner, job_values, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job_values))
    arguments = ["doctor", "--warm", "--network", str(path), "--json"]
    result = runner.invoke(main, arguments)
    (line,) = result.stdout.splitlines()
    (warmed,) = json.loads(line)["warmed"]
    assert warmed["network"] == str(path)


def test_warming_takes_saved_networks(runner, network_path):
    result = runner.invoke(main, ["doctor", "--warm", "--network", network_path])
    assert (result.exit_code, network_path in result.stdout) == (0, True)


def test_warming_tells_where_code_is_kept(runner, network_path):
    result = runner.invoke(main, ["doctor", "--warm", "--network", network_path])
    assert str(cache_directory()) in result.stdout


def test_warming_refuses_what_is_no_network(runner, tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    path = str(tmp_path / "data.csv")
    result = runner.invoke(main, ["doctor", "--warm", "--network", path])
    assert "must be a network or a job, got data" in result.stderr


def test_a_network_without_warm_is_refused(runner):
    result = runner.invoke(main, ["doctor", "--network", "x"])
    assert "--network needs --warm" in result.stderr


def test_warming_without_networks_meets_all_usual_layers():
    names = [name for name, _ in warming._usual()]
    assert {name.partition(",")[0] for name in names} == set(warming._LAYERS)
