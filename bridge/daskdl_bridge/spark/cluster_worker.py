"""A Dask worker and its nanny in an executor, run as a program by the task there.

The nanny is what brings a worker back that was killed or took too much memory: a task
that fails counts against ``spark.task.maxFailures``, which ends all workers.
"""

import asyncio
import logging
import os
import sys
import tempfile
import time
from typing import Any

import dask

from daskdl.cluster.started_workers import LoopbackNanny, started_worker_config
from daskdl_bridge.spark.cluster_process import input_ends, order

__all__: list[str] = []

# Dask's nanny gives a worker up that dies while it starts, and stays.
_WITHOUT_WORKER_S = 15.0
_LOOK_AGAIN_S = 1.0
_WORKER_LOGS = "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED"


async def _work(options: dict[str, Any], name: str) -> int:
    """Return the exit code: 0 once the worker left, or is to end."""
    config = started_worker_config()
    if level := options["silence_logs"]:
        logging.getLogger("distributed").setLevel(level)
        config[_WORKER_LOGS] = logging.getLevelName(level).lower()
    with (
        tempfile.TemporaryDirectory(
            prefix="daskdl-", dir=_directory(), ignore_cleanup_errors=True
        ) as directory,
        dask.config.set(config),
    ):
        nanny = LoopbackNanny(**options, name=name, local_directory=directory)
        try:
            return await _ended(nanny)
        finally:
            await nanny.close()


async def _ended(nanny: LoopbackNanny) -> int:
    to_end = asyncio.ensure_future(input_ends())
    starts = asyncio.ensure_future(_start(nanny))
    await asyncio.wait({to_end, starts}, return_when=asyncio.FIRST_COMPLETED)
    if to_end.done():
        return 0
    await starts
    given_up = asyncio.ensure_future(_given_up(nanny))
    left = asyncio.ensure_future(nanny.finished())
    await asyncio.wait({to_end, given_up, left}, return_when=asyncio.FIRST_COMPLETED)
    return 1 if given_up.done() else 0


async def _start(nanny: LoopbackNanny) -> None:
    await nanny


async def _given_up(nanny: LoopbackNanny) -> None:
    """Return when a nanny that is not closed had no worker for a while."""
    alive_s = time.monotonic()
    while time.monotonic() - alive_s < _WITHOUT_WORKER_S:
        await asyncio.sleep(_LOOK_AGAIN_S)
        if nanny.is_alive():
            alive_s = time.monotonic()


def _directory() -> str | None:
    """Return where Spark has temporary files; it removes what is left there."""
    return next(filter(None, os.environ.get("SPARK_LOCAL_DIRS", "").split(",")), None)


if __name__ == "__main__":
    sys.exit(asyncio.run(_work(order(), *sys.argv[1:])))
