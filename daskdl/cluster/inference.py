"""Evaluation and predictions on a cluster, as Dask tasks on partitions.

These are plain tasks: Dask runs one again if its worker goes. A part file counts only
if its task returned it, so that a repeated task neither loses nor doubles a key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from daskdl.cluster.log_filters import reported_by_client
from daskdl.cluster.network_copies import copies_at_most
from daskdl.cluster.plain_tasks import give_up, run_tasks
from daskdl.cluster.prediction_columns import among_all, prediction_columns
from daskdl.cluster.series_predictions import cut_to_steps, in_data_format
from daskdl.cluster.shared_state import share_state
from daskdl.cluster.worker_changes import WorkerChanges
from daskdl.cluster.worker_device import network_on_worker
from daskdl.data.dataset import DataSet
from daskdl.data.merging import merge_keys
from daskdl.data.scan import PartitionFacts, scan_partition
from daskdl.data.sinks import Sink
from daskdl.data.sources.memory_rows import cut_source
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.returned import OutputColumn
from daskdl.errors import DataError, ShapeError
from daskdl.evaluation.evaluable import Evaluable
from daskdl.nn.batches import Batch
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.fitting.preparation import Scan, class_axes
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.nn.tallies import ScoreTally, Tally
from daskdl.training.state import NetworkState, state_of

# Enough to balance, few enough that building a network for each is cheap.
GROUPS_PER_WORKER = 4
# Tasks that carry the network are spread over the workers. Those that need a result go
# to the worker that has it, and wait there while others have nothing to do.
MOST_CARRIED_BYTES = 64 << 20


@dataclass(frozen=True)
class Scored:
    """Evaluations and scores of one pass over labelled examples.

    Attributes
    ----------
    evaluations : list
        The evaluations that were asked for, filled.
    loss_sum : float
        Sum of the losses of all examples, without regularization.
    examples : int
        How many there were.
    skipped : int
        Rows that could not become examples, and were left out.
    """

    evaluations: list[Evaluable]
    loss_sum: float
    examples: int
    skipped: int = 0


@dataclass(frozen=True)
class Tallied:
    """What a pass over examples counted.

    Attributes
    ----------
    tally : Tally
    examples, skipped : int
        How many it saw, and rows that could not become examples.
    """

    tally: Any
    examples: int
    skipped: int = 0


@dataclass(frozen=True)
class Predicted:
    """Predictions of one partition, or where they were written.

    `is_valid`, of shape (rows,), tells which rows have a prediction; all have if it is
    None. `skipped` rows were left out.
    """

    index: int
    rows: int
    skipped: int = 0
    is_valid: NDArray[np.bool_] | None = None
    path: str | None = None
    keys: Any = None
    outputs: tuple[NDArray[Any], ...] = ()


@dataclass(frozen=True)
class InferenceTask:
    """The options that every inference task needs.

    `most_copies` is how many copies of the network a worker process may hold, None as
    many as it has threads.
    """

    batch_size: int
    key: tuple[str, ...] = ("key",)
    normalizer: NormalizerChoice = "own"
    most_copies: int | None = None


def scan_on(client: Client) -> Scan:
    """Return a scan that runs one task a partition on `client`'s cluster."""

    def scan(
        partitions: Sequence[Partition], how: dict[str, Any]
    ) -> list[PartitionFacts]:
        def submit(numbers: Sequence[int], workers: list[str]) -> list[Any]:
            these = [partitions[number] for number in numbers]
            futures: list[Any] = client.map(
                scan_one, these, pure=False, workers=workers, **how
            )
            return futures

        return run_tasks(client, "scan", len(partitions), submit, scanned=partitions)

    return scan


@reported_by_client
def scan_one(partition: Partition, **options: Any) -> PartitionFacts:
    """Scan a partition. Runs as a Dask task."""
    return scan_partition(partition, **options)


def scored_of(tallied: Tallied) -> Scored:
    """Return what a pass with a :class:`ScoreTally` has counted."""
    found: ScoreTally = tallied.tally
    return Scored(found.evaluations, found.loss_sum, found.examples, tallied.skipped)


def tally_source(
    client: Client,
    network: Network[Any],
    source: Source,
    empty: Tally,
    task: InferenceTask,
    changes: WorkerChanges | None = None,
) -> Tallied:
    """Count all of `source`, as `network` answers to it.

    Who goes and comes meanwhile is added to `changes`.
    """
    source = spread(client, source, task)
    results = run_on(client, network, source, tally_partitions, empty, task, changes)
    merged = empty.new_instance()
    for result in results:
        merged.merge(result.tally)
    return Tallied(
        merged,
        sum(result.examples for result in results),
        sum(result.skipped for result in results),
    )


def predict_source(
    client: Client,
    network: Network[Any],
    source: Source,
    sink: Sink | None,
    task: InferenceTask,
    changes: WorkerChanges | None = None,
) -> list[Predicted]:
    """Predict all of `source`; the results are in the order of its partitions.

    Who goes and comes meanwhile is added to `changes`.
    """
    source = spread(client, source, task)
    results = run_on(client, network, source, predict_partitions, sink, task, changes)
    return in_order(source, results)


def in_order(source: Source, results: Sequence[Sequence[Predicted]]) -> list[Predicted]:
    """Return what tasks told of partitions in their order, each once.

    Raises
    ------
    DataError
        If one is not there, or twice.
    """
    predicted = sorted(
        (entry for result in results for entry in result), key=lambda e: e.index
    )
    if [entry.index for entry in predicted] != list(range(len(source.partitions))):
        raise DataError(
            f"{source.name}: every partition must be predicted once, got "
            f"{len(predicted)} results for {len(source.partitions)} partitions."
        )
    return predicted


@reported_by_client
def tally_partitions(
    state: NetworkState,
    numbered: Sequence[tuple[int, Partition]],
    empty: Tally,
    task: InferenceTask,
) -> Tallied:
    """Count some partitions. Runs as a Dask task."""
    with copies_at_most(task.most_copies):
        return _tally_all(network_of(state), numbered, empty, task)


def _tally_all(
    network: Network[Any],
    numbered: Sequence[tuple[int, Partition]],
    empty: Tally,
    task: InferenceTask,
) -> Tallied:
    tally = empty.new_instance()
    examples, skipped = 0, 0
    for rows in (one for _, part in numbered for one in part.load_rows()):
        skipped += rows.skipped
        for batch in rows.examples.batches(task.batch_size):
            with network.normalizing(task.normalizer):
                tally.add(network, batch)
            examples += batch.num_examples
    return Tallied(tally, examples, skipped)


@reported_by_client
def predict_partitions(
    state: NetworkState,
    numbered: Sequence[tuple[int, Partition]],
    sink: Sink | None,
    task: InferenceTask,
) -> list[Predicted]:
    """Predict some partitions. Runs as a Dask task."""
    network = network_of(state)
    return [
        _predict(network, index, partition, sink, task) for index, partition in numbered
    ]


def output_columns(network: Network[Any]) -> list[OutputColumn]:
    """Return which columns of `prediction_columns` hold the outputs of a network."""
    columns = []
    for number, (spec, axis) in enumerate(
        zip(network.outputs, class_axes(network), strict=True)
    ):
        name = "prediction" if axis is None else "probability"
        shape = tuple(size or -1 for size in spec.type.border_shape)
        suffix = f"_{number}" if number else ""
        columns.append(OutputColumn(f"{name}{suffix}", shape, str(network.dtype)))
    return columns


def columns_without_rows(
    network: Network[Any], partition: Partition, task: InferenceTask
) -> dict[str, Any]:
    """Return the columns that a predictions file will have, for checks of their types.

    Keys are of the type in which they are stored, if the source knows it.
    """
    beside = _key_columns(task.key, np.empty(0, object), partition)
    beside |= partition.kept_columns([])
    outputs = _no_outputs(network, partition)
    n_outs = _n_outs(network)
    return prediction_columns(beside, outputs, class_axes(network), n_outs=n_outs)


def network_of(state: NetworkState) -> Network[Any]:
    """Return the network of a task, which takes one of its worker's threads."""
    network = network_on_worker(state)
    network.threads = 1
    return network


def _predict(
    network: Network[Any],
    index: int,
    partition: Partition,
    sink: Sink | None,
    task: InferenceTask,
) -> Predicted:
    keys: list[Any] = []
    kept: list[Any] = []
    valid: list[NDArray[np.bool_]] = []
    skipped = 0
    parts: list[list[NDArray[Any]]] = []
    formats = [getattr(spec.type, "data_format", "") for spec in network.outputs]
    for rows in partition.load_rows():
        skipped += rows.skipped
        keys.append(rows.keys)
        kept.append(rows.columns)
        valid.append(rows.are_valid())
        for batch in rows.examples.batches(task.batch_size):
            with network.normalizing(task.normalizer):
                found = outputs_of(network, batch)
            is_cut = partition.align is not None
            parts.append(cut_to_steps(found, batch, formats) if is_cut else found)
    # A file without rows still tells Spark the columns.
    each = zip(*(parts or [_no_outputs(network, partition)]), strict=True)
    outputs = tuple(_joined(partition.name, found) for found in each)
    joined = merge_keys(partition.name, keys)
    are_valid = np.concatenate(valid)
    is_valid = None if are_valid.all() else are_valid
    predicted = Predicted(index, len(are_valid), skipped, is_valid)
    if sink is None:
        outputs = tuple(map(in_data_format, outputs, formats))
        if is_valid is not None:
            outputs = tuple(among_all(output, is_valid) for output in outputs)
        keys_told = partition.told_keys(joined)
        return replace(predicted, keys=keys_told, outputs=outputs)
    beside = _key_columns(task.key, joined, partition)
    beside |= partition.kept_columns(kept)
    n_outs = _n_outs(network)
    columns = prediction_columns(beside, outputs, class_axes(network), is_valid, n_outs)
    return replace(predicted, path=sink.write_part(index, columns))


def _joined(name: str, found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return what minibatches gave as one array of shape (examples, ...)."""
    shapes = sorted({one.shape[1:] for one in found})
    if len(shapes) > 1:
        raise ShapeError(
            f"{name}: predictions of one part must have one shape, got "
            f"{' and '.join(map(str, shapes[:2]))}. Give series of several lengths in "
            "parts of one length each, or with align, or padded, with masks."
        )
    return np.concatenate(found)


def _n_outs(network: Network[Any]) -> list[int | None]:
    types = [spec.type for spec in network.outputs]
    return [t.size if isinstance(t, Recurrent) else t.border_shape[0] for t in types]


def _key_columns(
    names: Sequence[str], keys: Any, partition: Partition
) -> dict[str, Any]:
    """Return the columns of keys, as they are stored; several come as tuples."""
    if len(names) == 1 or keys is None:
        return dict.fromkeys(names, partition.stored_keys(keys))
    columns = {}
    for number, name in enumerate(names):
        values = np.empty(len(keys), object)
        values[:] = [key[number] for key in keys]
        columns[name] = partition.stored_keys(values, number)
    return columns


def _no_outputs(network: Network[Any], partition: Partition) -> list[NDArray[Any]]:
    shapes = [spec.type.border_shape for spec in network.outputs]
    is_cut = partition.align is not None
    return [
        np.empty(0, object)
        if is_cut and len(shape) == 2
        else np.zeros((0, *(length or 1 for length in shape)))
        for shape in shapes
    ]


def outputs_of(network: Network[Any], batch: Batch) -> list[NDArray[Any]]:
    """Return every output, (batch, ...), of the network in inference mode."""
    if isinstance(batch, DataSet):
        outputs = network.output(batch.features, features_mask=batch.features_mask)
    else:
        outputs = network.output(batch.features, features_mask=batch.features_masks)
    return outputs if isinstance(outputs, list) else [outputs]


def _n_bytes(state: NetworkState) -> int:
    arrays = [value for value in vars(state).values() if hasattr(value, "nbytes")]
    return sum(int(array.nbytes) for array in arrays)


def spread(client: Client, source: Source, task: InferenceTask) -> Source:
    """Return a source with data in memory in enough partitions for all workers."""
    return cut_source(source, _n_groups(client), task.batch_size)


def _n_groups(client: Client) -> int:
    return GROUPS_PER_WORKER * max(1, len(client.nthreads()))


def run_on(
    client: Client,
    network: Network[Any],
    source: Source,
    function: Callable[..., Any],
    extra: Any,
    task: InferenceTask,
    changes: WorkerChanges | None,
) -> list[Any]:
    """Run `function` on all partitions, some a task; return what the tasks returned.

    Parameters
    ----------
    client, network, source
    function : callable
        Takes the state of the network, numbered partitions, `extra` and `task`.
    extra : object
    task : InferenceTask
    changes : WorkerChanges or None
        Who goes and comes meanwhile is added to it.
    """
    numbered = list(enumerate(source.partitions))
    n_groups = _n_groups(client)
    groups = [numbered[start::n_groups] for start in range(n_groups)]
    groups = [group for group in groups if group]

    shared: list[Any] = []

    def submit(numbers: Sequence[int], workers: list[str]) -> list[Any]:
        state: Any = state_of(network)
        if _n_bytes(state) * len(numbers) > MOST_CARRIED_BYTES:
            # Each time anew: a worker that is stopped may be the one that has it.
            one = share_state(client, state, workers=workers)
            shared.extend(one.all)
            state = one.future
        return [
            client.submit(
                function,
                state,
                groups[number],
                extra,
                task,
                pure=False,
                workers=workers,
            )
            for number in numbers
        ]

    try:
        return run_tasks(client, source.name, len(groups), submit, changes=changes)
    finally:
        give_up(client, shared)
