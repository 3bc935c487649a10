"""The loss of each example on a cluster, with its key."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client

from daskdl.cluster.inference import (
    InferenceTask,
    Predicted,
    in_order,
    network_of,
    run_on,
    spread,
)
from daskdl.cluster.log_filters import reported_by_client
from daskdl.cluster.worker_changes import WorkerChanges
from daskdl.data.merging import merge_keys
from daskdl.data.sources.partition import Partition, Source
from daskdl.nn.network import Network
from daskdl.training.state import NetworkState


@dataclass(frozen=True)
class ScoreTask(InferenceTask):
    """What the tasks need that score examples one by one."""

    include_regularization: bool = False


def score_examples_of(
    client: Client,
    network: Network[Any],
    source: Source,
    task: ScoreTask,
    changes: WorkerChanges,
) -> list[Predicted]:
    """Score every example of `source`; results are in the order of its partitions.

    Who goes and comes meanwhile is added to `changes`.
    """
    source = spread(client, source, task)
    results = run_on(
        client, network, source, score_rows_of_partitions, None, task, changes
    )
    return in_order(source, results)


@reported_by_client
def score_rows_of_partitions(
    state: NetworkState,
    numbered: Sequence[tuple[int, Partition]],
    _: None,
    task: ScoreTask,
) -> list[Predicted]:
    """Score the examples of some partitions. Runs as a Dask task."""
    network = network_of(state)
    return [_scored(network, index, partition, task) for index, partition in numbered]


def _scored(
    network: Network[Any], index: int, partition: Partition, task: ScoreTask
) -> Predicted:
    keys: list[Any] = []
    scores = [np.zeros(0, network.dtype)]
    skipped = 0
    for rows in partition.load_rows():
        skipped += rows.skipped
        keys.append(rows.keys)
        scores += [
            network.score_examples(
                batch,
                include_regularization=task.include_regularization,
                normalizer=task.normalizer,
            )
            for batch in rows.examples.batches(task.batch_size)
        ]
    joined = np.concatenate(scores)
    return Predicted(
        index,
        len(joined),
        skipped,
        keys=partition.told_keys(merge_keys(partition.name, keys)),
        outputs=(joined,),
    )
