"""What a zip of ours holds besides DL4J's own entries does not disturb DL4J."""

import numpy as np

import daskdl as dl
from daskdl.nn.batches import as_arrays


def test_names_of_classes_are_left_alone(dl4j, rng, tmp_path):
    """DL4J takes what its user normalized; ours does it itself."""
    network = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=4),
            layers=[dl.Dense(n_out=5, activation="tanh"), dl.Output(n_out=3)],
        )
    )
    data = dl.DataSet(rng.normal(500, 100, (6, 4)).astype(np.float32))
    network.normalizer = dl.NormalizerStandardize().fit(data)
    network.class_names = ["ant", "bee", "cat"]
    path = tmp_path / "model.zip"
    network.save(path, format="dl4j")
    ready = as_arrays("test", network.normalizer.transform(data))
    (found,) = dl4j.output(path, ready, dtype="float32")
    np.testing.assert_allclose(found, network.output(data.features), rtol=1e-5)
