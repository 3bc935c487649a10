"""Putting the bus on a cluster."""

import importlib.metadata
from typing import Any

from daskdl.checks import some
from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.cluster.bus.scheduler_plugin import BusSchedulerPlugin
from daskdl.cluster.bus.worker_plugin import BusWorkerPlugin
from daskdl.errors import ClusterError

UNKNOWN = "unknown"


def install(client: Any) -> Any:
    """Put the bus on the scheduler and on all workers, present and future. Idempotent.

    First it checks that all of them can import the same daskdl: Dask would register a
    plugin that cannot be imported, and that plugin would then hurt every worker that
    joins the cluster, for all its users.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one, or an asynchronous one, for which an awaitable is returned.

    Raises
    ------
    ClusterError
        daskdl cannot be imported somewhere, or has another version there. Nothing was
        registered.
    """
    return client.sync(_install, client)


async def _install(client: Any) -> None:
    def probe() -> str:
        # Nested, so that it travels as code: where daskdl is missing, a reference to a
        # function of this module could not even be loaded.
        try:
            from daskdl.cluster.bus.installation import installed_version
        except ImportError as error:
            return f"not importable: {error}"
        return installed_version()

    found = {"scheduler": await client.run_on_scheduler(probe)}
    found.update(await client.run(probe))
    expected = installed_version()
    wrong = [f"{who}: {what}" for who, what in found.items() if what != expected]
    if wrong:
        raise ClusterError(
            f"Bus: daskdl {expected} must be importable everywhere, got {some(wrong)}. "
            "Install the same version on the scheduler and all workers."
        )
    # The scheduler first: a worker's join needs its handler.
    await client.register_plugin(BusSchedulerPlugin())
    await client.register_plugin(BusWorkerPlugin())


def installed_version() -> str:
    """Return daskdl's version and the bus's protocol."""
    try:
        version = importlib.metadata.version("daskdl")
    except importlib.metadata.PackageNotFoundError:
        version = UNKNOWN  # uploaded as a directory: compare the protocol only
    return f"{version} ({PLUGIN_NAME})"
