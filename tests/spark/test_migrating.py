"""The program of the page on migrating, as it stands there."""

from pathlib import Path

import numpy as np
import pytest

import daskdl
from tests.guide_blocks import blocks

CONFIGURATION = daskdl.MultiLayerConfiguration(
    updater=daskdl.Adam(learning_rate=0.05),
    input=daskdl.FeedForward(size=4),
    layers=[daskdl.Output(n_out=2, loss="mcxent")],
)


# Workers are started on this machine.
@pytest.mark.timeout(300)
def test_the_program_trains_evaluates_and_predicts(
    spark, tmp_path, monkeypatch, rng, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DASKDL_EXPORT_DIRECTORY", str(tmp_path))
    (block,) = (
        one for one in blocks("python", page="docs/migrating.md") if "spark" in one.text
    )
    features = rng.standard_normal((64, 4)).astype(np.float32)
    labels = np.eye(2, dtype=np.float32)[(features.sum(axis=1) > 0).astype(int)]
    minibatches = [
        daskdl.DataSet(features[at : at + 16], labels[at : at + 16])
        for at in range(0, 64, 16)
    ]
    context = spark.sparkContext
    exec(
        compile(block.text, str(block), "exec"),
        {
            "configuration": CONFIGURATION,
            "train": context.parallelize(minibatches, 2),
            "test": context.parallelize(minibatches, 2),
            "keyed": context.parallelize(list(enumerate(features)), 2),
        },
    )
    told = capsys.readouterr().out
    assert "Accuracy:" in told
    assert told.splitlines()[-1] == "64"
    assert Path("network.zip").exists()
