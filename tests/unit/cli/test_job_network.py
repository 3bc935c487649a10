"""The network that a job begins with, its normalizer and the names of its classes."""

from pathlib import Path

import pytest
import yaml

import daskdl as dl
from daskdl.cli.job_file import load_job
from daskdl.cli.job_network import job_network
from daskdl.errors import OptionError

# Four columns, two classes, a normalizer.
MODEL = Path(__file__).parents[2] / "data" / "formats" / "trained.safetensors"


@pytest.fixture
def network(tmp_path):
    """A function that returns the network of a job with such data."""

    def make(**data):
        path = tmp_path / "job.yaml"
        job = {"model": str(MODEL), "data": {"train": "train", **data}}
        path.write_text(yaml.safe_dump(job))
        return job_network(load_job(str(path)))

    return make


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
