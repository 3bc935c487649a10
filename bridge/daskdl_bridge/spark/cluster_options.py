"""Options of a Dask cluster where Spark is, and what Spark's own configuration adds."""

import logging
import re
from dataclasses import dataclass
from typing import Any

from distributed.utils import get_ip

from daskdl.checks import check_count, check_one_of, check_positive, check_type
from daskdl.cluster.started_workers import check_memory_limit
from daskdl.errors import OptionError
from daskdl_bridge.spark.cluster_process import WHO
from daskdl_bridge.spark.kinds import is_connect
from daskdl_bridge.spark.session import LOOPBACK, is_one_machine

__all__ = ["SparkClusterOptions"]

# What Spark itself sets aside for the JVM beside its heap, whatever the heap.
_MEMORY_OF_JVM = 384 << 20
_UNITS = {"": 20, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


@dataclass(frozen=True, kw_only=True)
class SparkClusterOptions:
    """How many workers, and what each may use; see :func:`cluster`.

    Parameters
    ----------
    workers : int
    memory : str or None
    threads : int or None
    host : str or None
    start_timeout_s : float
    security : {"tls", "none"}

    Raises
    ------
    OptionError
        If an option is out of range.
    """

    workers: int
    memory: str | None = None
    threads: int | None = None
    host: str | None = None
    start_timeout_s: float = 120.0
    security: str = "tls"

    def __post_init__(self) -> None:
        check_count(WHO, "workers", self.workers)
        if self.threads is not None:
            check_count(WHO, "threads", self.threads)
        if self.memory is not None:
            check_type(WHO, "memory", self.memory, str)
        check_memory_limit(WHO, "memory", self.memory)
        if self.host is not None:
            check_type(WHO, "host", self.host, str)
        check_positive(WHO, "start_timeout_s", self.start_timeout_s)
        check_one_of(WHO, "security", self.security, ("tls", "none"))

    def worker_threads(self, spark: Any) -> int:
        """Return the threads of a worker: by default the cores of a task."""
        return self.threads or int(spark.conf.get("spark.task.cpus", "1"))

    def worker_memory(self, spark: Any) -> str:
        """Return the memory limit of a worker, as Dask reads it.

        Raises
        ------
        OptionError
            If it was not given, and Spark's configuration has no memory for it.
        """
        if self.memory is not None:
            return self.memory
        if _is_local(spark):
            return "auto"
        share = _share_of_overhead(spark)
        check_memory_limit(WHO, "memory (from spark.executor.memoryOverhead)", share)
        return share

    def silenced_logs(self, spark: Any) -> int | None:
        """Return the level up to which workers log nothing, ``None`` for Dask's own.

        In an executor elsewhere they tell a log of its own.
        """
        # Workers that die or close are reported by the session in its own words; Dask's
        # log of the same would tear up the progress display.
        return logging.CRITICAL if is_one_machine(spark) else None

    def scheduler_hosts(self, spark: Any) -> tuple[str, str]:
        """Return where the scheduler listens, and the host by which workers know it."""
        if self.host is not None:
            return self.host, self.host
        if is_one_machine(spark):
            return LOOPBACK, LOOPBACK
        if is_connect(spark):
            ours = get_ip(spark.client.host)
            return ours, ours
        known_as = spark.conf.get("spark.driver.host")
        return spark.conf.get("spark.driver.bindAddress", known_as), known_as


def _is_local(spark: Any) -> bool:
    return re.match(r"local(\[|$)", spark.conf.get("spark.master", "")) is not None


def _share_of_overhead(spark: Any) -> str:
    overhead = spark.conf.get("spark.executor.memoryOverhead", None)
    master = spark.conf.get("spark.master", "")
    # A standalone cluster gives an executor all cores of a machine by default.
    one_or_all = "1" if master.startswith(("yarn", "k8s")) else None
    n_cores = spark.conf.get("spark.executor.cores", one_or_all)
    if overhead is None or n_cores is None:
        raise OptionError(
            f"{WHO}: memory must be given where spark.executor.memoryOverhead and "
            "spark.executor.cores are not set, got None. Give what a worker may use, "
            "such as '4 GiB', which Spark must have set aside in each executor."
        )
    n_slots = max(1, int(n_cores) // int(spark.conf.get("spark.task.cpus", "1")))
    left = max(0, _java_bytes(overhead) - _MEMORY_OF_JVM)
    return f"{left // n_slots >> 20} MiB"


def _java_bytes(size: str) -> int:
    """Return the bytes of one of Spark's sizes, which are of MiB without a unit."""
    found = re.fullmatch(r"(\d+)([kmgtp]?)b?", size.strip().lower())
    if found is None:
        raise OptionError(
            f"{WHO}: spark.executor.memoryOverhead must be a size such as '4g', got "
            f"{size!r}. Or give memory."
        )
    return int(found[1]) << _UNITS[found[2]]
