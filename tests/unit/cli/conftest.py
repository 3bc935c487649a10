import copy
import inspect

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
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


@pytest.fixture
def job_path(tmp_path, job_values, rng):
    """A job file whose train and test directories hold Parquet, 40 and 20 rows."""
    for name, rows in (("train", 40), ("test", 20)):
        folder = tmp_path / name
        folder.mkdir()
        write_parquet(folder / "part-00000.parquet", rng, rows)
        (folder / "_SUCCESS").touch()
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job_values))
    return str(path)


def write_parquet(path, rng, rows):
    x = rng.normal(size=(rows, 3))
    table = pa.table(
        {
            "id": list(range(rows)),
            "x": pa.array(x.tolist(), pa.list_(pa.float32())),
            "y": (x[:, 0] > 0).astype(int),
        }
    )
    pq.write_table(table, path)
