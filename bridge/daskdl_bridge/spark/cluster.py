"""Dask workers inside Spark's executors, for as long as a block lasts."""

import contextlib
import logging
import pickle
import time
from collections.abc import Iterator
from typing import Any

from distributed import Client, Security
from distributed.comm import get_address_host_port
from distributed.core import Status

from daskdl.cluster.started_workers import certificates
from daskdl.errors import ClusterError
from daskdl.nn.fitting.minute_progress import minutes_on_stderr
from daskdl_bridge.spark.cluster_job import WorkerJob
from daskdl_bridge.spark.cluster_options import SparkClusterOptions
from daskdl_bridge.spark.cluster_process import WHO
from daskdl_bridge.spark.cluster_scheduler import scheduler_process
from daskdl_bridge.spark.cluster_task import worker_task
from daskdl_bridge.spark.running_clusters import RUNNING, session_key

__all__ = ["SparkCluster", "cluster"]

logger = logging.getLogger(__name__)

_LOOK_AGAIN_S = 0.1


class SparkCluster:
    """A scheduler beside Spark's driver, and workers in its executors.

    ``distributed.Client`` takes it in place of an address, as it takes a
    ``LocalCluster``.

    Attributes
    ----------
    scheduler_address : str
        Whoever connects needs `security`, too.
    security : distributed.Security or None
        The certificates, which are kept in memory.
    status : distributed.core.Status
        ``closed`` once the block has ended.
    """

    def __init__(
        self, client: Client, scheduler_address: str, security: Security | None
    ) -> None:
        self.scheduler_address = scheduler_address
        self.security = security
        self.status = Status.running
        self._client = client

    def client(self) -> Client:
        """Return the client of the block, which front ends take.

        Returns
        -------
        distributed.Client
            The same one at every call, closed when the block ends.
        """
        return self._client


@contextlib.contextmanager
def cluster(
    spark: Any,
    *,
    workers: int,
    memory: str | None = None,
    threads: int | None = None,
    host: str | None = None,
    start_timeout_s: float = 120.0,
    security: str = "tls",
) -> Iterator[SparkCluster]:
    """Run Dask workers inside Spark's executors for as long as the block lasts.

    Public as ``daskdl.spark.cluster``. Each worker is a task of one Spark job, which
    holds its slot until the block ends: other jobs of the same application run in
    the slots that are left. The scheduler is a process beside this one. Workers that
    Spark starts late, or again after an executor was lost, join. Fits in the block
    tell how far they are as those of :func:`daskdl_bridge.spark.client.connect`.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        Classic, 3.5 or newer, or of Spark Connect, 4 or newer.
    workers : int
        How many; Spark needs as many free slots.
    memory : str or None
        What a worker may use, ``"4 GiB"``; its nanny ends one that takes more. Spark
        must have set it aside: ``spark.executor.memoryOverhead`` less 384 MiB, which
        are the JVM's, divided by the slots of an executor. ``None`` is that, or with
        the master ``local`` this machine's memory, shared as Dask does.
    threads : int or None
        Of a worker, ``None`` as many as a task has cores (``spark.task.cpus``).
    host : str or None
        A name or address of this machine that executors reach. ``None``: what Spark's
        driver told them (``spark.driver.host``), loopback where all are on one
        machine, and with Spark Connect the address by which its server is reached.
    start_timeout_s : float
        How long to wait for workers. If some are there by then, they begin.
    security : {"tls", "none"}
        With ``"none"`` whoever reaches scheduler or workers can run code there.

    Yields
    ------
    cluster : SparkCluster
        With a worker at least.

    Raises
    ------
    OptionError
        If an option is out of range, or `memory` has to be given.
    VersionMismatchError
        If executors have another Python, daskdl or distributed than this process.
    ClusterError
        If Spark has started no worker after `start_timeout_s`, or cannot.
    """
    options = SparkClusterOptions(
        workers=workers,
        memory=memory,
        threads=threads,
        host=host,
        start_timeout_s=start_timeout_s,
        security=security,
    )
    of_worker = {
        "nthreads": options.worker_threads(spark),
        "memory_limit": options.worker_memory(spark),
        "security": certificates(WHO, options.security),
        "silence_logs": options.silenced_logs(spark),
    }
    listens, known_as = options.scheduler_hosts(spark)
    # The job is left last: its tasks end when the scheduler has told the workers to.
    with (
        WorkerJob(spark, options.workers) as job,
        scheduler_process(listens, known_as, of_worker["security"]) as address,
        Client(address, security=of_worker["security"], set_as_default=False) as client,
        minutes_on_stderr(),
    ):
        order = pickle.dumps({"scheduler_ip": address, **of_worker})
        job.start(worker_task(get_address_host_port(address), order))
        _await_workers(client, job, options)
        found = SparkCluster(client, address, of_worker["security"])
        key = session_key(spark)
        RUNNING[key] = found, options.workers
        try:
            yield found
        finally:
            found.status = Status.closed
            RUNNING.pop(key, None)


def _await_workers(
    client: Client, job: WorkerJob, options: SparkClusterOptions
) -> None:
    """Return when all workers are there, or after the time-out at least one."""
    latest_s = time.monotonic() + options.start_timeout_s
    while (n_found := len(client.nthreads())) < options.workers:
        job.has_worked = job.has_worked or n_found > 0
        job.check()
        if time.monotonic() > latest_s:
            _tell_missing(n_found, options)
            return
        time.sleep(_LOOK_AGAIN_S)
    job.has_worked = True


def _tell_missing(n_found: int, options: SparkClusterOptions) -> None:
    if not n_found:
        raise ClusterError(
            f"{WHO}: Spark must have a free slot for at least one of {options.workers} "
            f"workers within {options.start_timeout_s:g} s, got none. Other jobs may "
            "hold them, or executors do not start: see Spark's web page."
        )
    logger.warning(
        "%s: asked Spark for %d workers, %d came within %g s. Work begins with them; "
        "the others join when Spark has free slots.",
        WHO,
        options.workers,
        n_found,
        options.start_timeout_s,
    )
