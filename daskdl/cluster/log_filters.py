"""Filters for the logs of workers and schedulers, against noise from Dask.

Dask logs ``Compute Failed`` with a traceback for every task that raises. A bad column
fails one task a partition, and what to do about it would drown in tracebacks: errors of
daskdl's own are reported by the client. It also logs every function that a client runs
there, and keeps the last 10,000 lines in memory; ours run several times an epoch, and
on the scheduler twice a second.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from daskdl.errors import DaskdlError

F = TypeVar("F", bound=Callable[..., Any])

_LOGGER = "distributed.worker"
_BEGINNING = "Compute Failed"
_CALL = "Run out-of-band function"


def reported_by_client(function: F) -> F:
    """Mark a function that runs as a task, whose errors the client reports.

    Parameters
    ----------
    function : callable
        Of a module that workers import; Dask names its tasks after it.

    Returns
    -------
    callable
        The function itself.
    """
    _filter().tasks.add(function.__name__)
    return function


def asked_often(function: F) -> F:
    """Mark a function that a client runs again and again, whose calls are not logged.

    Parameters
    ----------
    function : callable
        Of a module that workers or the scheduler import.

    Returns
    -------
    callable
        The function itself.
    """
    _filter().calls.add(function.__name__)
    return function


def _filter() -> "_ReportedElsewhere":
    logger = logging.getLogger(_LOGGER)
    found = next((f for f in logger.filters if isinstance(f, _ReportedElsewhere)), None)
    if found is None:
        found = _ReportedElsewhere()
        logger.addFilter(found)
    return found


class _ReportedElsewhere(logging.Filter):
    """Drops Dask's log lines of marked calls, and of marked tasks with our errors."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: set[str] = set()
        self.calls: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is to be logged."""
        message = str(record.msg)
        args = record.args if isinstance(record.args, tuple) else ()
        if message.startswith(_CALL):
            return self.calls.isdisjoint(map(str, args))
        if not message.startswith(_BEGINNING):
            return True
        texts = [arg for arg in args if isinstance(arg, str)]
        # Key, state, and the task as text, whose form changes from version to version.
        is_ours = any(task in text for text in texts[:3] for task in self.tasks)
        names = {kind.__name__ for kind in _below(DaskdlError)}
        return not (is_ours and any(text.partition("(")[0] in names for text in texts))


def _below(kind: type[Exception]) -> Iterator[type[Exception]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)
