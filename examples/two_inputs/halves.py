"""A graph with two inputs: the upper and the lower half of a handwritten digit.

    python examples/two_inputs/halves.py

Each half goes through a layer of its own; a merge vertex joins them. The data are the
digits of examples/digits, cut in two in memory.
"""

from pathlib import Path

from distributed import Client, LocalCluster

import daskdl

DIGITS = Path(__file__).parents[1] / "digits" / "data"
HALF = 32

NETWORK = daskdl.ComputationGraphConfiguration(
    seed=12345,
    updater=daskdl.Adam(learning_rate=0.002),
    activation="relu",
    inputs={
        "upper": daskdl.FeedForward(size=HALF),
        "lower": daskdl.FeedForward(size=HALF),
    },
    vertices={
        "upper_half": daskdl.Dense(n_out=48, inputs=["upper"]),
        "lower_half": daskdl.Dense(n_out=48, inputs=["lower"]),
        "whole": daskdl.MergeVertex(inputs=["upper_half", "lower_half"]),
        "hidden": daskdl.Dense(n_out=48, inputs=["whole"]),
        "digit": daskdl.Output(n_out=10, loss="mcxent", inputs=["hidden"]),
    },
    outputs=["digit"],
)


def main(*, epochs: int = 20) -> daskdl.Evaluation:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        graph = daskdl.DaskComputationGraph(
            client,
            NETWORK,
            daskdl.SharedTrainingMaster(),
            normalizer=daskdl.NormalizerStandardize(),
        )
        graph.fit(halves(DIGITS / "train"), epochs=epochs, batch_size=32)
        evaluation = graph.evaluate(halves(DIGITS / "test"))
    print(evaluation.stats())
    return evaluation


def halves(directory: Path) -> daskdl.MultiDataSet:
    """Load the digits of a directory and cut each in two."""
    whole = daskdl.DataSet.merge(
        [
            partition.load()
            for partition in daskdl.open_source(
                str(directory),
                daskdl.SourceOptions(features="features", label="label", n_classes=10),
            ).partitions
        ]
    )
    upper, lower = whole.features[:, :HALF], whole.features[:, HALF:]
    return daskdl.MultiDataSet([upper, lower], [whole.labels])


if __name__ == "__main__":
    main()
