"""The Spark job whose tasks are workers, run beside the driver's own work."""

import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from daskdl.errors import (
    ClusterError,
    DaskdlError,
    MissingExtraError,
    VersionMismatchError,
)
from daskdl_bridge.spark.cluster_process import WHO
from daskdl_bridge.spark.cluster_task import COLUMNS, VERSIONS_DIFFER
from daskdl_bridge.spark.kinds import is_connect

__all__ = ["WorkerJob"]

logger = logging.getLogger(__name__)

# A job that fails sooner, some times in a row, would go on to fail.
_HELD_FOR_S, _MOST_QUICK = 30.0, 3
_BETWEEN_S = 1.0
_ENDS_WITHIN_S = 20.0


class WorkerJob:
    """Tasks without end, until their workers leave; canceled on the way out.

    A context manager. Spark starts a task again that fails, on another executor if need
    be; a job of which one task failed too often is submitted again.

    Parameters
    ----------
    spark : SparkSession
        Classic or of Spark Connect.
    n_tasks : int

    Attributes
    ----------
    has_worked : bool
        To be set once a worker is there. A job that fails later is submitted again.
    """

    def __init__(self, spark: Any, n_tasks: int) -> None:
        self._spark = spark
        self._n_tasks = n_tasks
        self._tag = f"daskdl-cluster-{uuid.uuid4().hex}"
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()
        self.has_worked = False
        self._error: Exception | None = None

    def __enter__(self) -> "WorkerJob":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for tasks whose workers have left, and cancel what goes on."""
        self._is_closing.set()
        # Where no task has begun, none ends by itself.
        if not self.has_worked or not self.join():
            self._cancel()
            self.join()

    def start(self, task: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        """Submit the job in a thread of its own.

        Parameters
        ----------
        task : callable
            For ``mapInArrow``.
        """
        kind = threading.Thread if is_connect(self._spark) else _classic_thread()
        self._thread = kind(target=self._run, args=(task,), daemon=True)
        self._thread.start()

    def join(self) -> bool:
        """Wait for the end of the job, and return whether it came."""
        if self._thread is None:
            return True
        self._thread.join(_ENDS_WITHIN_S)
        return not self._thread.is_alive()

    def check(self) -> None:
        """Raise if the job has failed for good.

        Raises
        ------
        MissingExtraError
            If Spark lacks a package on the driver.
        VersionMismatchError
            If executors lack daskdl, or have other versions.
        ClusterError
            If its tasks failed, or Spark did not take the job.
        """
        if self._error is not None:
            raise _translated(self._error) from self._error

    def _run(self, task: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        n_quick = 0
        while not self._is_closing.is_set():
            began_s = time.monotonic()
            try:
                self._submit(task)
                return
            except Exception as error:  # noqa: BLE001 - raised by check
                is_quick = time.monotonic() - began_s < _HELD_FOR_S
                n_quick = n_quick + 1 if is_quick else 0
                # A block that ends by that error, or stopped Spark, has ended then.
                self._is_closing.wait(_BETWEEN_S)
                if not self._goes_on(n_quick):
                    self._error = error
                    return
                logger.warning("%s It is submitted again.", _translated(error))

    def _goes_on(self, n_quick: int) -> bool:
        # What no worker ever came of is told by check, and would fail again.
        if self._is_closing.is_set() or not self.has_worked:
            return False
        if n_quick > _MOST_QUICK:
            logger.error("%s: no more workers come, Spark's jobs fail at once.", WHO)
        return n_quick <= _MOST_QUICK

    def _submit(self, task: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        if is_connect(self._spark):
            self._spark.addTag(self._tag)
        else:
            self._spark.sparkContext.setJobGroup(
                self._tag, f"{WHO}: Dask workers", interruptOnCancel=True
            )
        slots = self._spark.range(0, self._n_tasks, 1, self._n_tasks)
        for row in slots.mapInArrow(task, COLUMNS).collect():
            # All have ended. Either all is over, or none has begun.
            self._error = ClusterError(row.said)

    def _cancel(self) -> None:
        try:
            if is_connect(self._spark):
                self._spark.interruptTag(self._tag)
            else:
                self._spark.sparkContext.cancelJobGroup(self._tag)
        except Exception as error:  # noqa: BLE001 - a session may have been stopped
            logger.warning("%s: the job of the workers stays: %s", WHO, error)


def _classic_thread() -> type[threading.Thread]:
    """Return threads with the caller's properties, its scheduler pool for one."""
    from pyspark import InheritableThread

    kind: type[threading.Thread] = InheritableThread
    return kind


def _translated(error: Exception) -> DaskdlError:
    """Return what a task said, found in the text that Spark made of it."""
    text = str(error)
    if isinstance(error, ImportError):
        return MissingExtraError(
            f"{WHO}: mapInArrow must run, Spark lacks a package: {text} Run: pip "
            "install 'daskdl[spark]'."
        )
    if said := re.search(rf"{re.escape(WHO)}: [^\n]*", text):
        kind = VersionMismatchError if VERSIONS_DIFFER in said[0] else ClusterError
        return kind(said[0])
    if pythons := re.search(
        r"worker has different version:? (.+?) than that in driver:? ([\d.]+)", text
    ):
        # Of 3.5 as a tuple.
        theirs = ".".join(re.findall(r"\d+", pythons[1]))
        return VersionMismatchError(
            f"{WHO}: {VERSIONS_DIFFER}, got Python {pythons[2]} on the driver and "
            f"{theirs} there. Set PYSPARK_PYTHON to the Python of the executors that "
            "has daskdl."
        )
    return ClusterError(
        f"{WHO}: the Spark job of the workers must run, it failed: {_cause(text)} "
        "Spark's logs say more."
    )


def _cause(text: str) -> str:
    """Return the line that tells most: Python's error, or that of the last task."""
    found = re.search(r"^[\w.]*(Error|Interrupt): .*", text, re.MULTILINE)
    found = found or re.search(r"(?<=most recent failure: ).*", text)
    return found[0] if found else text.strip().partition("\n")[0]
