"""Start and stop of daskdl's plugins on a worker.

They are never in the scheduler's own book of worker plugins: whoever joins the cluster
must load what stands there, and a worker without daskdl could not join at all. Each
worker is asked instead, and may fail alone.
"""

from typing import Any

from daskdl.cluster.bus.protocol import PLUGIN_NAME


async def start_plugins(
    pickled: dict[str, bytes], generation: str, dask_worker: Any
) -> None:
    """Start the plugins that this worker lacks.

    Parameters
    ----------
    pickled : dict of str to bytes
        Plugins by name.
    generation : str
        Names one stay of daskdl on the cluster. What is left of an earlier one, because
        the worker was stopped when it ended, is replaced.
    """
    await stop_plugins(pickled, generation, dask_worker, but=True)
    # What is there stays: plugin_add would tear it down, with the topics of others.
    for name, plugin in pickled.items():
        if name not in dask_worker.plugins:
            await dask_worker.plugin_add(plugin=plugin, name=name, catch_errors=False)
        if name == PLUGIN_NAME:
            dask_worker.plugins[name].generation = generation


async def stop_plugins(
    names: Any, generation: str, dask_worker: Any, *, but: bool = False
) -> None:
    """Stop the plugins of a generation, or with `but` those of another."""
    bus = dask_worker.plugins.get(PLUGIN_NAME)
    if bus is None or (bus.generation == generation) is but:
        return
    for name in names:
        if name in dask_worker.plugins:
            await dask_worker.plugin_remove(name=name)


def travelling_start() -> Any:
    """Return :func:`start_plugins` as code, which loads where daskdl is missing too."""

    async def start(
        pickled: dict[str, bytes], generation: str, dask_worker: Any
    ) -> str | None:
        try:
            from daskdl.cluster.bus.plugin_lifecycle import start_plugins
        except ImportError as error:
            return f"{type(error).__name__}: {error}"
        await start_plugins(pickled, generation, dask_worker)
        return None

    return start
