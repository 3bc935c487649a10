"""Train on workers that SLURM starts: on two, and then on three that come and go."""

from dask_jobqueue import SLURMCluster
from distributed import Client

import daskdl

if __name__ == "__main__":
    layers = [daskdl.Dense(64, activation="relu"), daskdl.Output(10)]
    digits = daskdl.MultiLayerConfiguration(
        input=daskdl.FeedForward(64), layers=layers, updater=daskdl.Adam(0.005)
    )
    workers = SLURMCluster(
        # Of a job, which has one worker a process. They share its memory.
        cores=1,
        processes=1,
        memory="2 GiB",
        walltime="01:00:00",
        # Certificates for this cluster alone; jobs read their files.
        security=True,
        shared_temp_directory="~",
        # Workers leave in order before SLURM kills them.
        worker_extra_args=["--lifetime", "55m", "--lifetime-stagger", "4m"],
    )
    with workers, Client(workers) as client:
        front = daskdl.DaskMultiLayer(client, digits)
        train, test = "examples/digits/data/train", "examples/digits/data/test"
        columns = {"features": "features", "label": "label"}
        workers.scale(2)
        how = {**columns, "batch_size": 32, "shuffle": True}
        front.fit(train, **how, epochs=10, workers=2)
        workers.adapt(minimum=0, maximum=3)
        front.fit(train, **how, epochs=5, workers=3)
        print(front.evaluate(test, **columns).stats())
