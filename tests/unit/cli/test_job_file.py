"""Reading a job file."""

from datetime import datetime, timezone

import pytest
import yaml

from daskdl.cli.job_file import job_text, load_job, resolve_path
from daskdl.errors import OptionError, SourceNotFoundError


@pytest.fixture
def job_file(tmp_path, job_values):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job_values))
    return path


def test_paths_start_at_the_folder_of_the_job(job_file):
    job = load_job(str(job_file))
    folder = job_file.parent
    assert (job.data.train, job.output) == (f"{folder}/train", f"{folder}/out")


def test_the_model_starts_at_the_folder_of_the_job(job_file, job_values):
    del job_values["network"]
    job_file.write_text(yaml.safe_dump({**job_values, "model": "old/lenet.zip"}))
    assert load_job(str(job_file)).model.path == f"{job_file.parent}/old/lenet.zip"


def test_urls_stay_as_they_are(job_file):
    job = load_job(str(job_file), ["data.train=hdfs://nn/a", "data.test=/b"])
    assert (job.data.train, job.data.test) == ("hdfs://nn/a", "/b")


def test_each_of_several_paths_is_made_whole(job_file):
    job = load_job(str(job_file), ["data.train=[a, hdfs:///b]"])
    assert job.data.train == (f"{job_file.parent}/a", "hdfs:///b")


def test_output_of_the_command_line_starts_at_the_current_folder(
    job_file, tmp_path, monkeypatch
):
    monkeypatch.chdir("/")
    assert load_job(str(job_file), output="x/y").output == "/x/y"


def test_without_output_the_name_tells_job_and_time(job_file, job_values):
    del job_values["output"]
    job_file.write_text(yaml.safe_dump(job_values))
    output = load_job(str(job_file)).output
    assert output.startswith(f"{job_file.parent}/runs/job-2")


def test_overrides_are_checked_like_the_file(job_file):
    with pytest.raises(OptionError, match=r"job\.yaml: training\.epoch: is not a kn"):
        load_job(str(job_file), ["training.epoch=3"])


def test_a_scheduler_replaces_what_is_for_local_workers(job_file):
    here = [
        "cluster.memory_limit=2 GiB",
        "cluster.type=cuda",
        "cluster.cuda_visible_devices=[0, 1]",
        "cluster.rmm_pool_size=0.8",
        "cluster.security=none",
    ]
    job = load_job(str(job_file), here, scheduler="tcp://h:8786")
    assert job.cluster.model_dump(exclude_defaults=True) == {
        "scheduler": "tcp://h:8786",
        "workers": 1,
    }


def test_a_job_as_it_ran_gives_the_same_job(job_file, tmp_path_factory):
    job = load_job(str(job_file), ["training.epochs=7"])
    elsewhere = tmp_path_factory.mktemp("run") / "job.yaml"
    elsewhere.write_text(job_text(job))
    assert load_job(str(elsewhere)) == job


def test_the_snapshot_of_a_table_is_kept_with_the_job(job_file, tmp_path_factory):
    job = load_job(str(job_file), ["data.timestamp=2026-01-31T12:00:00+01:00"])
    elsewhere = tmp_path_factory.mktemp("run") / "job.yaml"
    elsewhere.write_text(job_text(job))
    again = load_job(str(elsewhere)).data.source_options()
    assert again.timestamp == datetime(2026, 1, 31, 11, tzinfo=timezone.utc)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"none\.yaml: must be a file"):
        load_job(str(tmp_path / "none.yaml"))


def test_a_file_without_mapping_is_refused(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("- 1")
    with pytest.raises(OptionError, match=r"must hold a mapping, got \[1\]"):
        load_job(str(path))


def test_broken_yaml_is_refused_with_line_and_column(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("network: {\n")
    with pytest.raises(OptionError, match=r"job\.yaml: must be valid YAML.*line 2"):
        load_job(str(path))


@pytest.mark.parametrize(
    ("folder", "path", "whole"),
    [
        ("/a/b", "c", "/a/b/c"),
        ("/a/b", "../c", "/a/c"),
        ("/a/b", "/c", "/c"),
        ("/a/b", "s3a://c/d", "s3a://c/d"),
        ("hdfs://nn:9000/a", "b/c", "hdfs://nn:9000/a/b/c"),
        ("hdfs:///a", "../b", "hdfs:///b"),
    ],
)
def test_paths_are_resolved(folder, path, whole):
    assert resolve_path(folder, path) == whole
