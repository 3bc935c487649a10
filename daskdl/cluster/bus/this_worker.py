"""The bus of the worker that runs the calling task."""

from typing import Any

from distributed import get_worker

from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.cluster.bus.worker_plugin import BusWorkerPlugin
from daskdl.errors import ClusterError


def get_bus(worker: Any = None) -> BusWorkerPlugin:
    """Return the bus of a worker.

    Parameters
    ----------
    worker : distributed.Worker, optional
        By default the one that runs the calling task.

    Returns
    -------
    bus : BusWorkerPlugin
        Its :meth:`~BusWorkerPlugin.topic` opens a topic.

    Raises
    ------
    ClusterError
        Not in a task, or the bus is not installed.
    """
    if worker is None:
        worker = _this_worker()
    bus = worker.plugins.get(PLUGIN_NAME)
    if not isinstance(bus, BusWorkerPlugin):
        raise ClusterError(
            f"Bus: must be installed, worker {worker.address} does not have it. "
            "Call daskdl.cluster.bus.install(client) first."
        )
    return bus


def _this_worker() -> Any:
    try:
        return get_worker()
    except ValueError as error:
        raise ClusterError(
            "Bus: must be used in a task on a Dask worker, got no worker."
        ) from error
