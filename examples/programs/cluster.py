"""Train on Parquet files that Spark wrote, on two workers."""

from distributed import Client, LocalCluster

import daskdl

if __name__ == "__main__":
    layers = [daskdl.Dense(64, activation="relu"), daskdl.Output(10)]
    digits = daskdl.MultiLayerConfiguration(
        input=daskdl.FeedForward(64), layers=layers, updater=daskdl.Adam(0.005)
    )
    workers = LocalCluster(n_workers=2, threads_per_worker=1)
    with workers, Client(workers) as client:
        front = daskdl.DaskMultiLayer(client, digits)
        train, test = "examples/digits/data/train", "examples/digits/data/test"
        front.fit(train, features="features", label="label", epochs=10, batch_size=32)
        print(front.evaluate(test, features="features", label="label").stats())
