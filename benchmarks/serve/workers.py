"""Two workers of a thread each, and what their processes used."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from benchmarks.serve.loop import begin_peak

N_WORKERS = 2


def opened(stack: ExitStack, **options: Any) -> Any:
    """Return a client of a cluster that is closed with the stack."""
    from distributed import Client, LocalCluster

    cluster = stack.enter_context(
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        )
    )
    return stack.enter_context(Client(cluster, set_as_default=False))


def cpu_clock(client: Any) -> Callable[[], float]:
    """Return what reads the seconds of CPU time of all workers together."""

    def cpu_s() -> float:
        # No task: it is answered between the steps of one that runs.
        return float(sum(client.run(_process_s).values()))

    return cpu_s


def begin_peaks(client: Any) -> dict[str, float]:
    """Return what the workers hold, in MiB, and let them forget their peaks."""
    held: dict[str, float] = client.run(begin_peak)
    return held


def on_each(client: Any, function: Callable[..., Any], arguments: list[Any]) -> Any:
    """Run a function on all workers at once, each with its argument; return results."""
    addresses = client.scheduler_info(n_workers=-1)["workers"]
    futures = [
        client.submit(function, argument, workers=[address], pure=False)
        for argument, address in zip(arguments, addresses, strict=True)
    ]
    return client.gather(futures)


def _process_s() -> float:
    times = os.times()
    return times.user + times.system
