"""Tasks of data pipelines: one a partition, on a cluster or in this process."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from distributed import Client

from daskdl.cluster.connection import check_client, scheduler_must_answer
from daskdl.cluster.enough_workers import enough_workers
from daskdl.cluster.log_filters import reported_by_client
from daskdl.cluster.plain_tasks import NO_WORKER_TIMEOUT_S, run_tasks
from daskdl.data.sources.partition import Partition, Source

__all__ = ["run_each", "run_for_partitions"]

R = TypeVar("R")


def run_for_partitions(
    client: Client | None,
    who: str,
    source: Source,
    tasks: Sequence[Callable[[], R]],
) -> list[R]:
    """Return the results of tasks, one for each partition of the source.

    Parameters
    ----------
    client : Client, optional
        None runs them in this process.
    who : str
        For messages.
    source : Source
    tasks : sequence of callable
        Partial functions that can be pickled.
    """
    # What is in memory here would only be carried to workers and back.
    where = None if source.in_memory else client
    return run_each(where, who, tasks, source.partitions)


def run_each(
    client: Client | None,
    who: str,
    tasks: Sequence[Callable[[], R]],
    read: Sequence[Partition] = (),
) -> list[R]:
    """Return the results of tasks, in order; `read` is what each reads."""
    if client is None:
        return [task() for task in tasks]
    check_client(who, client)

    def submit(numbers: Sequence[int], workers: list[str]) -> list[Any]:
        these = [tasks[number] for number in numbers]
        futures: list[Any] = client.map(run_one, these, pure=False, workers=workers)
        return futures

    advice = "Start it, and try again."
    timeout_s = NO_WORKER_TIMEOUT_S
    with (
        scheduler_must_answer(client, who, advice),
        enough_workers(client, None, None, timeout_s),
    ):
        return run_tasks(client, who, len(tasks), submit, scanned=read)


@reported_by_client
def run_one(task: Callable[[], R]) -> R:
    """Do what a partial function holds. Runs as a Dask task."""
    return task()
