"""A Dask scheduler in a process of its own, which ends with the one that started it.

It shares no interpreter with the driver, whose own work would hold it up. Run as a
program, this module is the scheduler.
"""

import asyncio
import contextlib
import logging
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from distributed import Scheduler, Security
from distributed.comm import get_address_host_port, unparse_host_port

from daskdl.errors import ClusterError
from daskdl_bridge.spark.cluster_process import WHO, end, input_ends, order, started

__all__ = ["scheduler_process"]

_CLOSES_WITHIN_S = 10.0


@contextlib.contextmanager
def scheduler_process(
    host: str, known_as: str, security: Security | None
) -> Iterator[str]:
    """Have a scheduler during the block.

    Parameters
    ----------
    host : str
        Where it listens, on a free port.
    known_as : str
        The host by which others know it.
    security : Security or None

    Yields
    ------
    address : str

    Raises
    ------
    ClusterError
        If it does not start; it says itself why, on standard error.
    """
    protocol = "tls" if security else "tcp"
    options = {"host": host, "protocol": protocol, "security": security}
    process = started(__name__, pickle.dumps(options), stdout=subprocess.PIPE)
    try:
        told = process.stdout.readline()  # type: ignore[union-attr]
        if not told:
            raise ClusterError(
                f"{WHO}: the scheduler must start at {host!r}, it ended with code "
                f"{process.wait()}. What it wrote on standard error says why; give "
                "host if Spark's spark.driver.host is not this machine's."
            )
        _, port = get_address_host_port(told.decode().strip())
        yield f"{protocol}://{unparse_host_port(known_as, port)}"
    finally:
        end(process)


async def _serve(options: dict[str, Any]) -> None:
    # Workers that die or close are reported by the session in its own words.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    scheduler = Scheduler(
        **options, port=0, dashboard=False, dashboard_address="127.0.0.1:0"
    )
    await scheduler
    sys.stdout.write(f"{scheduler.address}\n")
    sys.stdout.flush()
    ends = {asyncio.ensure_future(f) for f in (input_ends(), scheduler.finished())}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(
            scheduler.close(reason="the block ended"), _CLOSES_WITHIN_S
        )


if __name__ == "__main__":
    asyncio.run(_serve(order()))
