"""The job of job.yaml in Python: train on two workers, evaluate, predict, save."""

import sys
from pathlib import Path

from distributed import Client, LocalCluster

import daskdl

TRAIN, TEST = (str(Path(__file__).parent / "data" / name) for name in ("train", "test"))
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


def main(model: str) -> daskdl.Evaluation:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        digits = daskdl.DaskMultiLayer(
            client,
            NETWORK,
            daskdl.SharedTrainingMaster(),
            normalizer=daskdl.NormalizerStandardize(),
        )
        digits.fit(TRAIN, epochs=20, batch_size=32, shuffle=True, **COLUMNS)
        evaluation = digits.evaluate(TEST, **COLUMNS)
        pairs = digits.feed_forward_with_key(TEST, key="id", features="features")
    print(evaluation.stats())
    for key, probabilities in pairs[:5]:
        print(f"example {key} is a {probabilities.argmax()}")
    digits.save(model)
    return evaluation


if __name__ == "__main__":
    main(*sys.argv[1:] or ["digits.safetensors"])
