"""The directory of a run in place of the file of its network."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import SourceNotFoundError
from daskdl.formats.run_network import MODEL
from tests.unit.networks.small import mlp

LAST = "checkpoint-000002.safetensors"


@pytest.mark.parametrize("name", [MODEL, LAST])
def test_its_network_is_loaded(tmp_path, name):
    network = mlp()
    network.save(tmp_path / name)
    for directory in (tmp_path, f"{tmp_path}/"):
        assert np.array_equal(dl.load(directory).params, network.params)


def test_the_trained_one_comes_before_its_checkpoints(tmp_path):
    network = mlp(seed=7)
    network.save(tmp_path / MODEL)
    mlp(seed=8).save(tmp_path / LAST)
    assert dl.load(tmp_path).conf.seed == 7


def test_another_directory_is_no_network(tmp_path):
    with pytest.raises(SourceNotFoundError, match="must be a file, got nothing or a"):
        dl.load(tmp_path)
