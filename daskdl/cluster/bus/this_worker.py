"""The bus of the worker that runs the calling task."""

import time
from typing import Any

from distributed import get_worker

from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.cluster.bus.worker_plugin import BusWorkerPlugin
from daskdl.errors import ClusterError

# A worker that has just come may run tasks before it has imported daskdl.
NEWCOMER_TIMEOUT_S = 10.0
_LOOK_EVERY_S = 0.05


def get_bus(worker: Any = None) -> BusWorkerPlugin:
    """Return the bus of a worker.

    Parameters
    ----------
    worker : distributed.Worker, optional
        By default the one that runs the calling task; if that has come but now, its
        bus is waited for.

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
        _wait_for_plugin(worker)
    bus = worker.plugins.get(PLUGIN_NAME)
    if not isinstance(bus, BusWorkerPlugin):
        raise ClusterError(
            f"Bus: must be installed, worker {worker.address} does not have it. "
            "Call daskdl.cluster.bus.install(client) first."
        )
    return bus


def _wait_for_plugin(worker: Any) -> None:
    deadline = time.monotonic() + NEWCOMER_TIMEOUT_S
    while PLUGIN_NAME not in worker.plugins and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)


def _this_worker() -> Any:
    try:
        return get_worker()
    except ValueError as error:
        raise ClusterError(
            "Bus: must be used in a task on a Dask worker, got no worker."
        ) from error
