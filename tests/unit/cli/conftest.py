import copy
import inspect

import pytest
from click.testing import CliRunner

JOB = {
    "network": {
        "updater": {"type": "adam", "learning_rate": 0.01},
        "input": {"type": "feed_forward", "size": 3},
        "layers": [
            {"type": "dense", "n_out": 4, "activation": "relu"},
            {"type": "output", "n_out": 2},
        ],
    },
    "data": {"train": "train", "test": "test", "features": "x", "label": "y"},
    "training": {"epochs": 2, "batch_size": 8},
    "cluster": {"workers": 1},
    "output": "out",
}


@pytest.fixture
def job_values():
    """A job's plain values, to be changed by the test."""
    return copy.deepcopy(JOB)


@pytest.fixture
def runner():
    """A runner that keeps stdout and stderr apart, with any click."""
    if "mix_stderr" in inspect.signature(CliRunner).parameters:
        return CliRunner(mix_stderr=False)
    return CliRunner()
