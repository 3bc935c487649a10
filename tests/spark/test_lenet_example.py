"""The LeNet example from its IDX files to a trained network, made small."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

LENET = Path(__file__).parents[2] / "examples" / "lenet"
ROWS = {"train": 256, "t10k": 64}


def write_idx(path: Path, values: np.ndarray) -> None:
    """Write bytes as the files of MNIST have them: 8 is the code for bytes."""
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


@pytest.fixture
def idx_files(tmp_path: Path, rng: np.random.Generator) -> Path:
    """Images of ten classes that even a few steps can tell apart: bright rows."""
    for name, rows in ROWS.items():
        labels = np.arange(rows) % 10
        images = rng.integers(0, 60, (rows, 28, 28))
        images[np.arange(rows)[:, None], 2 * labels[:, None] + np.arange(3)] += 180
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte.gz", labels)
        write_idx(tmp_path / f"{name}-images-idx3-ubyte.gz", images)
    return tmp_path


# Two programs start, one of them Spark.
@pytest.mark.slow
@pytest.mark.timeout(360)
def test_lenet_learns_what_its_spark_program_wrote(
    idx_files: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    data = tmp_path / "parquet"
    prepare = [sys.executable, LENET / "prepare.py", data.as_uri()]
    subprocess.run([*prepare, "--idx-files", idx_files], check=True)
    train = [
        Path(sys.executable).with_name("daskdl"),
        *("run", LENET / "job.yaml", "--json", "--output", tmp_path / "run"),
        *(f"data.train={data}/train", f"data.test={data}/test"),
        *("cluster.workers=2", "training.epochs=3", "training.batch_size=16"),
    ]
    done = subprocess.run(train, check=True, stdout=subprocess.PIPE, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["examples"] == 3 * ROWS["train"]
