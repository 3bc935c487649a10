"""Opening a saved network."""

import shutil

import pytest

from daskdl.cli.job_file import load_job
from daskdl.cli.saved_model import columns_of, open_model
from daskdl.errors import FormatError, OptionError, SourceNotFoundError
from daskdl.nn.build import build_network


@pytest.fixture
def run_folder(job_path, tmp_path):
    """A run directory with job and model."""
    folder = tmp_path / "run"
    folder.mkdir()
    build_network(load_job(job_path).network).save(f"{folder}/model.safetensors")
    shutil.copy(job_path, folder / "job.yaml")
    return folder


def test_a_run_directory_stands_for_its_model(run_folder):
    assert open_model(str(run_folder)).url == f"{run_folder}/model.safetensors"


@pytest.mark.parametrize("path", ["", "/", "/model.safetensors"])
def test_columns_are_those_of_the_job_beside_the_model(run_folder, path):
    options = open_model(f"{run_folder}{path}").source_options()
    assert (options.features, options.label) == ("x", "y")


def test_columns_of_the_command_line_come_first(run_folder):
    options = open_model(str(run_folder)).source_options(features=["a", "b"])
    assert (options.features, options.label) == (("a", "b"), "y")


def test_without_a_job_the_defaults_hold(run_folder):
    (run_folder / "job.yaml").unlink()
    assert open_model(str(run_folder)).source_options().features is None


def test_the_stored_form_of_the_training_is_not_taken_over(run_folder):
    job = run_folder / "job.yaml"
    job.write_text(job.read_text().replace("data:", "data:\n  format: csv"))
    assert open_model(str(run_folder)).source_options().format is None


def test_a_run_that_was_interrupted_stands_for_its_checkpoint(run_folder):
    (run_folder / "model.safetensors").rename(
        run_folder / "checkpoint-000001.safetensors"
    )
    saved = open_model(str(run_folder))
    assert saved.url == f"{run_folder}/checkpoint-000001.safetensors"
    assert saved.options.features == "x"


def test_a_run_without_a_whole_epoch_is_refused(run_folder):
    (run_folder / "model.safetensors").unlink()
    with pytest.raises(SourceNotFoundError, match="a run that has not finished an epo"):
        open_model(str(run_folder))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_network_of_a_run_that_is_not_finished_is_named(run_folder, is_there):
    run_folder.rename(f"{run_folder}.unfinished-0123abcd")
    if is_there:
        run_folder.mkdir()
    with pytest.raises(
        SourceNotFoundError, match=r"finished: run\.unfinished-0123abcd"
    ):
        open_model(str(run_folder))


def test_nothing_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError, match="nothing is there"):
        open_model(str(tmp_path / "none"))


def test_a_directory_without_a_model_is_refused(tmp_path):
    with pytest.raises(
        SourceNotFoundError, match=r"a run directory with model\.safetensors"
    ):
        open_model(str(tmp_path))


def test_a_file_that_is_no_network_is_refused(tmp_path):
    path = tmp_path / "letters.txt"
    path.write_text("dear")
    with pytest.raises(FormatError, match=r"letters\.txt"):
        open_model(str(path))


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["x"], "x"),
        (["x", "y"], ("x", "y")),
        (["a=x", "b=y", "a=z"], {"a": ("x", "z"), "b": ("y",)}),
    ],
)
def test_columns_are_read(names, columns):
    assert columns_of("features", names) == columns


def test_named_and_unnamed_columns_do_not_mix():
    with pytest.raises(OptionError, match="--label: either all must be INPUT=COLUMN"):
        columns_of("label", ["a=x", "y"])


def test_unfinished_directories_are_read_when_told_to(run_folder):
    options = open_model(str(run_folder)).source_options(unfinished=True)
    assert options.require_success is False
