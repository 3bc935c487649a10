"""Networks of workers: on the device that a worker was given, without being told to.

Who starts a worker with Dask-CUDA, or has it offer the resource ``GPU``, wants what
runs there to use it. The environment of the worker has the first word all the same
(:mod:`daskdl.arrays.device`).
"""

import logging
from typing import Any

from distributed import get_worker

from daskdl.arrays.device import PRIORITY_VARIABLE, asked_for, prefer_device
from daskdl.errors import DeviceError, MissingExtraError
from daskdl.nn.fitting.trained import Trained, network_of
from daskdl.nn.network import Network
from daskdl.training.state import NetworkState, trained_from_state

__all__ = [
    "GPU_RESOURCE",
    "keeps_networks_on_device",
    "network_on_worker",
    "trained_on_worker",
]

# What everybody calls it, Dask's own documentation among them.
GPU_RESOURCE = "GPU"
# Each worker of Dask-CUDA imports it, whichever of its commands or classes starts it.
_PRELOAD = "dask_cuda.initialize"
# Of Dask: what daskdl's own loggers say below a warning no worker shows.
_log = logging.getLogger("distributed.worker")


def keeps_networks_on_device(worker: Any) -> bool:
    """Return whether networks of a worker's tasks do not live in main memory."""
    asked = asked_for()
    return asked == "cupy" or (asked is None and _why_device(worker) is not None)


def network_on_worker(state: NetworkState) -> Network[Any]:
    """Return the network of a task, where its worker keeps networks.

    See :func:`trained_on_worker`.
    """
    return network_of(trained_on_worker(state))


def trained_on_worker(state: NetworkState) -> Trained:
    """Return what a task trains, where its worker keeps networks.

    Parameters
    ----------
    state : NetworkState
        What has travelled.

    Raises
    ------
    DeviceError, MissingExtraError
        If the worker is to compute on a device, and has none or no CuPy; with its
        address.
    """
    worker = _this_worker()
    why = None if worker is None else _why_device(worker)
    if why is not None and prefer_device():
        _log.info(
            "daskdl: networks of worker %s live on its CUDA device, since it %s; "
            "%s=none leaves them in main memory",
            worker.address,
            why,
            PRIORITY_VARIABLE,
        )
    try:
        return trained_from_state(state)
    except (DeviceError, MissingExtraError) as error:
        if worker is None:
            raise
        reason = "" if why is None else f", which {why}"
        raise type(error)(f"Worker at {worker.address}{reason}: {error}") from error


def _this_worker() -> Any:
    """Return the worker of this thread; None where a task is called by hand."""
    try:
        return get_worker()
    except ValueError:
        return None


def _why_device(worker: Any) -> str | None:
    if any(preload.name == _PRELOAD for preload in worker.preloads):
        return "was started by Dask-CUDA"
    if worker.state.total_resources.get(GPU_RESOURCE):
        return f"offers the resource {GPU_RESOURCE}"
    return None
