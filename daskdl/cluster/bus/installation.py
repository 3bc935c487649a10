"""Putting the bus on a cluster, and taking it off again."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from distributed.protocol.pickle import dumps

from daskdl.checks import some
from daskdl.cluster.bus.holders import Holder
from daskdl.cluster.bus.plugin_lifecycle import start_plugins
from daskdl.cluster.bus.probing import probe_each, probe_scheduler
from daskdl.cluster.bus.scheduler_plugin import hold, release
from daskdl.cluster.bus.worker_plugin import BusWorkerPlugin
from daskdl.cluster.calls import GONE, OnWaiting, call_each
from daskdl.errors import ClusterError

# A worker that imports daskdl for the first time takes seconds, and many of them from a
# slow network file system.
ANSWER_TIMEOUT_S = 60.0


def install(
    client: Any,
    *,
    plugins: Sequence[Any] = (),
    timeout_s: float = ANSWER_TIMEOUT_S,
    holder: str | None = None,
    events: str | None = None,
    on_waiting: OnWaiting | None = None,
) -> Any:
    """Put the bus on the scheduler and on all workers, present and future. Idempotent.

    It stays until the last one that called this has called :func:`uninstall`, or its
    client is gone. First it is checked that all can import the same daskdl. A worker
    that comes later and cannot is left alone: it joins the cluster without the bus.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one, or an asynchronous one, for which an awaitable is returned.
    plugins : sequence of WorkerPlugin
        Further ones for the workers; each has a ``name``.
    timeout_s : float
        How long a worker may take to import daskdl, and to start its plugins.
    holder : str, optional
        Who needs it; the client if not given.
    events : str, optional
        The topic of the events that it gets, which are dropped at its end.
    on_waiting : callable, optional
        Told after a few seconds which workers have not answered yet.

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
    everything = [BusWorkerPlugin(), *plugins]
    return client.sync(
        _install,
        client,
        everything,
        timeout_s,
        holder or client.id,
        Holder(client.id, events),
        on_waiting,
    )


def uninstall(client: Any, *, holder: str | None = None) -> Any:
    """Give up the bus; its last user takes it off the cluster.

    Parameters
    ----------
    client : distributed.Client
        As for :func:`install`.
    holder : str, optional
        Who needed it; the client if not given.
    """
    return client.run_on_scheduler(release, holder or client.id)


async def _install(
    client: Any,
    plugins: Sequence[Any],
    timeout_s: float,
    name: str,
    holder: Holder,
    on_waiting: OnWaiting | None,
) -> frozenset[str]:
    probed = await probe_each(client, await client.nthreads(), timeout_s, on_waiting)
    wrong = [f"worker {who}: {what}" for who, what in probed.wrong.items()]
    if (what := await probe_scheduler(client)) is not None:
        wrong.insert(0, f"scheduler: {what}")
    if wrong:
        raise ClusterError(
            "Bus: scheduler and workers must have the Python and the daskdl of the "
            f"client, got {some(wrong)}. Install the same versions everywhere."
        )
    pickled = {plugin.name: dumps(plugin) for plugin in plugins}
    # The scheduler first: a worker's join needs its handler.
    generation = await client.run_on_scheduler(hold, name, holder, pickled)
    try:
        # Again, for workers that registered with the scheduler since.
        there = (await client.nthreads()).keys() - probed.silent
        given = dict.fromkeys(there, (pickled, generation))
        started = await call_each(client, start_plugins, given, timeout_s)
        for address in started.failed.keys() & probed.able:
            error = started.failed[address]
            raise ClusterError(
                f"Bus: worker {address} must start the plugins {sorted(pickled)}, it "
                f"failed with {error!r}."
            ) from error
    except BaseException:
        with suppress(*GONE):
            await client.run_on_scheduler(release, name)
        raise
    return frozenset(started.values)
