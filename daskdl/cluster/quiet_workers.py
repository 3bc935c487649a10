"""What workers need not log: errors of daskdl's own, which the client reports.

Dask logs ``Compute Failed`` with a traceback for every task that raises. A bad column
fails one task a partition, and what to do about it would drown in tracebacks.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from daskdl.errors import DaskdlError

F = TypeVar("F", bound=Callable[..., Any])

_LOGGER = "distributed.worker"
_BEGINNING = "Compute Failed"


def reported_by_client(function: F) -> F:
    """Mark a function that runs as a task: the client reports what it raises.

    Parameters
    ----------
    function : callable
        Of a module that workers import; Dask names its tasks after it.

    Returns
    -------
    callable
        The function itself.
    """
    logger = logging.getLogger(_LOGGER)
    found = next((f for f in logger.filters if isinstance(f, _ReportedElsewhere)), None)
    if found is None:
        found = _ReportedElsewhere()
        logger.addFilter(found)
    found.tasks.add(function.__name__)
    return function


class _ReportedElsewhere(logging.Filter):
    """Drops what Dask logs of marked tasks that end with an error of daskdl's own."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is to be logged."""
        if not str(record.msg).startswith(_BEGINNING):
            return True
        args = record.args if isinstance(record.args, tuple) else ()
        texts = [arg for arg in args if isinstance(arg, str)]
        # Key, state, and the task as text, whose form changes from version to version.
        is_ours = any(task in text for text in texts[:3] for task in self.tasks)
        names = {kind.__name__ for kind in _below(DaskdlError)}
        return not (is_ours and any(text.partition("(")[0] in names for text in texts))


def _below(kind: type[Exception]) -> Iterator[type[Exception]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)
