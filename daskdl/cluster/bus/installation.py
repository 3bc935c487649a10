"""Putting the bus on a cluster."""

import importlib.metadata
from collections.abc import Sequence
from typing import Any

from distributed.protocol.pickle import dumps

from daskdl.checks import some
from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.cluster.bus.scheduler_plugin import BusSchedulerPlugin
from daskdl.cluster.bus.worker_plugin import BusWorkerPlugin
from daskdl.cluster.calls import call_each
from daskdl.errors import ClusterError

UNKNOWN = "unknown"
# A worker that imports daskdl for the first time takes seconds, and many of them from a
# slow network file system.
ANSWER_TIMEOUT_S = 60.0


def install(
    client: Any,
    *,
    plugins: Sequence[Any] = (),
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> Any:
    """Put the bus on the scheduler and on all workers, present and future. Idempotent.

    First it checks that all of them can import the same daskdl: Dask would register a
    plugin that cannot be imported, and that plugin would then hurt every worker that
    joins the cluster, for all its users.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one, or an asynchronous one, for which an awaitable is returned.
    plugins : sequence of WorkerPlugin
        Further ones for the workers; each has a ``name``.
    timeout_s : float
        How long a worker may take to import daskdl, and to start its plugins.

    Returns
    -------
    installed : frozenset of str
        Workers that have it now. Those that do not answer are left out, and those that
        come meanwhile and cannot take it.

    Raises
    ------
    ClusterError
        daskdl cannot be imported somewhere, or has another version there. Nothing was
        registered. Or a worker cannot start a plugin.
    """
    return client.sync(_install, client, [BusWorkerPlugin(), *plugins], timeout_s)


async def _install(
    client: Any, plugins: Sequence[Any], timeout_s: float
) -> frozenset[str]:
    def probe() -> str:
        # Nested, so that it travels as code: where daskdl is missing, a reference to a
        # function of this module could not even be loaded.
        try:
            from daskdl.cluster.bus.installation import installed_version
        except ImportError as error:
            return f"not importable: {error}"
        return installed_version()

    found = {"scheduler": await client.run_on_scheduler(probe)}
    everyone = dict.fromkeys(await client.nthreads(), ())
    probed = await call_each(client, probe, everyone, timeout_s)
    found |= probed.values
    found |= {who: repr(error) for who, error in probed.failed.items()}
    expected = installed_version()
    wrong = [f"{who}: {what}" for who, what in found.items() if what != expected]
    if wrong:
        raise ClusterError(
            f"Bus: daskdl {expected} must be importable everywhere, got {some(wrong)}. "
            "Install the same version on the scheduler and all workers."
        )
    # The scheduler first: a worker's join needs its handler.
    await client.register_plugin(BusSchedulerPlugin())
    pickled = {plugin.name: dumps(plugin) for plugin in plugins}
    await client.run_on_scheduler(_give_to_workers_to_come, pickled)
    # Again, for workers that registered with the scheduler since.
    there = (await client.nthreads()).keys() - probed.silent
    given = dict.fromkeys(there, (pickled,))
    started = await call_each(client, _start_plugins, given, timeout_s)
    for address in started.failed.keys() & probed.values.keys():
        error = started.failed[address]
        raise ClusterError(
            f"Bus: worker {address} must start the plugins {sorted(pickled)}, it "
            f"failed with {error!r}."
        ) from error
    return frozenset(started.values)


def installed_version() -> str:
    """Return daskdl's version and the bus's protocol."""
    try:
        version = importlib.metadata.version("daskdl")
    except importlib.metadata.PackageNotFoundError:
        version = UNKNOWN  # uploaded as a directory: compare the protocol only
    return f"{version} ({PLUGIN_NAME})"


def _give_to_workers_to_come(pickled: dict[str, bytes], dask_scheduler: Any) -> None:
    # Not Client.register_plugin: it also calls all workers at once, and raises when one
    # of them dies meanwhile, or waits without end for one that is stopped.
    for name, plugin in pickled.items():
        dask_scheduler.worker_plugins.setdefault(name, plugin)


async def _start_plugins(pickled: dict[str, bytes], dask_worker: Any) -> None:
    # What is there stays: plugin_add would tear it down, with the topics of others.
    for name, plugin in pickled.items():
        if name not in dask_worker.plugins:
            await dask_worker.plugin_add(plugin=plugin, name=name, catch_errors=False)
