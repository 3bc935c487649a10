"""Dask clusters that run inside Spark's executors now, by the session they are of."""

from typing import TYPE_CHECKING, Any

from daskdl.errors import OptionError
from daskdl_bridge.spark.kinds import is_connect

if TYPE_CHECKING:
    from daskdl_bridge.spark.cluster import SparkCluster

__all__ = ["RUNNING", "check_slots", "running", "session_key"]

RUNNING: dict[str, tuple["SparkCluster", int]] = {}
"""The cluster of a session and its number of workers, by `session_key`."""


def session_key(session: Any) -> str:
    """Return what is the same for all objects of a session's application."""
    if is_connect(session):
        return str(session.session_id)
    return str(session.sparkContext.applicationId)


def running(session: Any) -> "SparkCluster | None":
    """Return the cluster that runs inside the executors of a session."""
    found = RUNNING.get(session_key(session))
    return None if found is None else found[0]


def check_slots(who: str, session: Any) -> None:
    """Refuse a job for which Dask's workers have left no slot: it would never begin.

    Only where Spark tells how many there are: not through Connect, nor where it starts
    executors when they are needed.

    Raises
    ------
    OptionError
    """
    found = RUNNING.get(session_key(session)) if RUNNING else None
    if found is None or is_connect(session) or _grows(session):
        return
    slots = session.sparkContext.defaultParallelism
    per_task = int(session.conf.get("spark.task.cpus", "1"))
    if slots < (found[1] + 1) * per_task:
        raise OptionError(
            f"{who}: Spark must have a free slot to run this job, got {slots} cores, "
            f"all held by {found[1]} workers of daskdl.spark.cluster. Ask for fewer "
            "workers, or call daskdl.spark.export before the block."
        )


def _grows(session: Any) -> bool:
    conf = session.sparkContext.getConf()
    is_dynamic = conf.get("spark.dynamicAllocation.enabled", "false") == "true"
    return is_dynamic or bool(conf.contains("spark.default.parallelism"))
