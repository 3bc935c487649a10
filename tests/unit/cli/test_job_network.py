"""The network that a job begins with, its normalizer and the names of its classes."""

import shutil
from pathlib import Path

import pytest
import yaml

import daskdl as dl
from daskdl.cli.job_file import load_job
from daskdl.cli.job_network import job_network
from daskdl.errors import OptionError, SourceNotFoundError
from tests.dialects import DL4J

# Four columns, two classes, a normalizer.
MODEL = Path(__file__).parents[2] / "data" / "formats" / "trained.safetensors"


@pytest.fixture
def network(tmp_path):
    """A function that returns the network of a job with such data."""

    def make(model=str(MODEL), tell=print, **data):
        path = tmp_path / "job.yaml"
        job = {"model": model, "data": {"train": "train", **data}}
        path.write_text(yaml.safe_dump(job))
        return job_network(load_job(str(path)), tell)

    return make


@pytest.mark.parametrize("name", ["model.safetensors", "checkpoint-000001.safetensors"])
def test_a_job_goes_on_from_a_run(network, tmp_path, name):
    (tmp_path / "run").mkdir()
    shutil.copy(MODEL, tmp_path / "run" / name)
    assert network("run").iteration_count == 3


def test_a_job_does_not_go_on_from_a_run_without_a_network(network, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "job.yaml").touch()
    with pytest.raises(SourceNotFoundError, match="a run that has not finished an epo"):
        network("run")


def test_what_a_model_came_with_stays(network):
    assert network().normalizer.is_fitted


def test_a_job_can_take_it_away(network):
    assert network(normalize="none").normalizer is None


def test_a_job_can_ask_for_another(network):
    normalizer = network(normalize="min_max").normalizer
    assert type(normalizer) is dl.NormalizerMinMaxScaler
    assert not normalizer.is_fitted


def test_a_job_names_the_classes(network):
    assert network(class_names=["no", "yes"]).class_names == ("no", "yes")


def test_wrong_names_are_refused_by_their_key(network):
    with pytest.raises(OptionError, match=r"data\.class_names: .* must be 2 different"):
        network(class_names=["no"])


def test_a_normalizer_that_changes_classes_is_refused_by_its_key(network):
    with pytest.raises(OptionError, match=r"data\.normalize: .* must leave labels of"):
        network(normalize={"type": "standardize", "fit_label": True})


@pytest.mark.parametrize("dialect", ["exact", DL4J])
def test_a_job_asks_for_a_dialect(network, dialect):
    model = {"path": str(MODEL), "dialect": dialect}
    assert network(model).conf.dialect == dialect


def test_a_job_says_what_is_computed_otherwise(network):
    told = []
    network({"path": str(MODEL), "dialect": DL4J}, told.append)
    _, quirks = dl.load(str(MODEL)).with_dialect(DL4J)
    assert told == [
        f"going on from {MODEL}",
        *(f"computed otherwise in {DL4J}: {quirk}" for quirk in quirks),
    ]
