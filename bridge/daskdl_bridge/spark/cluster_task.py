"""The task that Spark runs: it starts a Dask worker, and ends when that does.

The worker is a process of its own: it begins with the variables of the environment that
NumPy's threads and memory depend on, and takes its memory along when it ends, where
Spark would use the task's process again. If Spark kills the task, the worker ends too.

Nothing here imports Dask, which the task's process has no use for.
"""

import socket
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

from daskdl_bridge.spark.cluster_process import WHO, end, started

__all__ = ["COLUMNS", "VERSIONS_DIFFER", "run_worker", "worker_task"]

# Errors come to the driver as text, among much else.
VERSIONS_DIFFER = "executors must have the driver's versions"
COLUMNS = "said string"
_PACKAGES = ("daskdl", "distributed", "numpy")
_ANSWERS_WITHIN_S = 20.0


def worker_task(
    address: tuple[str, int], order: bytes
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function of a task.

    Parameters
    ----------
    address : tuple of str and int
        Host and port of the scheduler.
    order : bytes
        For :mod:`daskdl_bridge.spark.cluster_worker`.

    Returns
    -------
    callable
        For ``mapInArrow``. It yields rows of `COLUMNS` only where it found no
        scheduler, since that is what late tasks find when all is over.
    """
    ours = {name: metadata.version(name) for name in _PACKAGES}
    message = f"{WHO}: {VERSIONS_DIFFER}"

    # A function in a function travels with its code, and so runs where daskdl is
    # missing, too. Of daskdl it may name nothing before it has looked.
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import socket
        import sys
        from importlib import metadata

        import pyarrow as pa

        def found(name: str) -> str:
            try:
                return metadata.version(name)
            except metadata.PackageNotFoundError:
                return "missing"

        theirs = {name: found(name) for name in ours}
        # Patches of NumPy understand each other's arrays.
        if any(
            theirs[name].split(".")[:2] != version.split(".")[:2]
            if name == "numpy"
            else theirs[name] != version
            for name, version in ours.items()
        ):
            told = ", ".join(
                f"{name} {version} on the driver and {theirs[name]} there"
                for name, version in ours.items()
                if theirs[name] != version
            )
            raise RuntimeError(
                f"{message}, got {told} ({sys.executable} on {socket.gethostname()}). "
                "Ship one environment with spark.archives and PYSPARK_PYTHON, or "
                "install the same everywhere."
            )
        from daskdl_bridge.spark.cluster_task import run_worker

        if said := run_worker(address, order):
            yield pa.RecordBatch.from_pydict({"said": [said]})

    return work


def run_worker(address: tuple[str, int], order: bytes) -> str | None:
    """Run a worker in a process of its own until it leaves the cluster.

    Parameters
    ----------
    address : tuple of str and int
        Host and port of the scheduler.
    order : bytes
        For :mod:`daskdl_bridge.spark.cluster_worker`.

    Returns
    -------
    str or None
        That no scheduler is there, in the words of an error.

    Raises
    ------
    RuntimeError
        If the scheduler's machine cannot be reached from here, or the worker ends
        otherwise.
    """
    from pyspark import TaskContext

    if said := _unreachable(address):
        return said
    # Of one attempt only: the scheduler may not know yet that an earlier one is gone.
    name = f"spark-{TaskContext.get().taskAttemptId()}"
    # What users print goes to the executor's log, as Spark's workers' does.
    process = started("daskdl_bridge.spark.cluster_worker", order, name, stdout=2)
    try:
        code = process.wait()
    finally:
        end(process)
    if code:
        raise RuntimeError(
            f"{WHO}: worker {name} on {socket.gethostname()} must leave the cluster "
            f"in order, its process ended with code {code}. The executor's log says "
            "more."
        )
    return None


def _unreachable(address: tuple[str, int]) -> str | None:
    """Return an error where nobody listens; raise it where the machine is not found."""
    try:
        socket.create_connection(address, _ANSWERS_WITHIN_S).close()
    except OSError as error:
        host, port = address
        said = (
            f"{WHO}: executors must reach the scheduler at {host}:{port}, "
            f"{socket.gethostname()} does not ({error}). Give host, a name or address "
            "of the driver's machine that they reach, and open its ports to them."
        )
        if isinstance(error, ConnectionRefusedError):
            return said
        raise RuntimeError(said) from error
    return None
