"""The port of LeNet as a program of its own, on a few bright rows."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PORT = Path(__file__).parents[2] / "examples" / "spark_port" / "lenet.py"
ROWS = {"train": 96, "test": 32}


@pytest.fixture(scope="module")
def data(spark, tmp_path_factory):
    """Images of ten classes that a few steps can tell apart: bright rows."""
    from pyspark.ml.linalg import Vectors

    folder = tmp_path_factory.mktemp("lenet")
    rng = np.random.default_rng(0)
    for name, rows in ROWS.items():
        images = rng.uniform(0, 0.2, (rows, 28, 28))
        labels = np.arange(rows) % 10
        images[np.arange(rows)[:, None], 2 * labels[:, None] + np.arange(3)] += 0.7
        made = [
            (int(label), Vectors.dense(image.ravel()))
            for label, image in zip(labels, images, strict=True)
        ]
        frame = spark.createDataFrame(made, ["label", "features"]).coalesce(2)
        frame.write.parquet(f"{folder.as_uri()}/{name}")
    return folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("program", "training_master"),
    [
        pytest.param("python", "averaging", marks=pytest.mark.slow),
        pytest.param("python", "shared", marks=pytest.mark.slow),
        ("spark-submit", "averaging"),
    ],
)
def test_the_program_trains_and_evaluates(data, tmp_path, program, training_master):
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    words = [
        {"python": sys.executable, "spark-submit": submit}[program],
        *(PORT, "--data", data.as_uri(), "--num-epochs", "2"),
        *("--training-master", training_master, "--save", tmp_path / "lenet.zip"),
    ]
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        list(map(str, words)),
        env={**os.environ, **python},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Accuracy:" in done.stdout
    assert (tmp_path / "lenet.zip").exists()
