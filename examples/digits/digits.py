"""The job of job.yaml in Python: train on two local workers, evaluate, save, predict.

python examples/digits/digits.py [MODEL]
"""

import sys
from pathlib import Path

from distributed import Client, LocalCluster

import daskdl

DATA = Path(__file__).with_name("data")
COLUMNS = {"features": "features", "label": "label"}

NETWORK = daskdl.MultiLayerConfiguration(
    seed=12345,
    updater=daskdl.Adam(learning_rate=0.002),
    activation="relu",
    input=daskdl.ConvolutionalFlat(height=8, width=8, channels=1),
    layers=[
        daskdl.Convolution2D(n_out=32, kernel_size=(3, 3), convolution_mode="same"),
        daskdl.Subsampling(pooling_type="max"),
        daskdl.Dense(n_out=96),
        daskdl.Output(n_out=10, loss="mcxent"),
    ],
)


def main(model: str | None = None, *, epochs: int = 20) -> daskdl.Evaluation:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        master = daskdl.SharedTrainingMaster()
        scale = daskdl.NormalizerStandardize()
        digits = daskdl.DaskMultiLayer(client, NETWORK, master, normalizer=scale)
        digits.fit(str(DATA / "train"), epochs=epochs, batch_size=32, **COLUMNS)
        evaluation = digits.evaluate(str(DATA / "test"), **COLUMNS)
        print(evaluation.stats())
        pairs = digits.feed_forward_with_key(
            str(DATA / "test"), key="id", features="features"
        )
        for key, probabilities in pairs[:5]:
            print(f"digit {key} is a {probabilities.argmax()}")
        if model is not None:
            digits.save(model)
    return evaluation


if __name__ == "__main__":
    main(*sys.argv[1:])
