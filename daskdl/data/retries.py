"""Retries of calls to a store: not at once, and not for ever.

The writers of HDFS do not survive the death of a DataNode, and until the NameNode
notices it hands out the dead one. A store on the network may be gone for a moment. So
whatever can be done again from its beginning is, unless waiting does not help.
"""

import errno
import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from fsspec.exceptions import FSTimeoutError

__all__ = ["BROKEN", "in_words", "is_full", "is_lasting", "with_retries"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

# What file operations raise; before Python 3.11 fsspec's time-out is no OSError.
BROKEN = (OSError, FSTimeoutError)

# One of five DataNodes is in the pipeline of a block three times of five: two tries in
# a thousand are left after twelve. At first a try is cheap, later somebody has to act.
WAITS_S: tuple[float, ...] = (0.2, 0.5, 1, 2, 4, 4, 8, 8, 8, 8, 8)

# A try on a store that does not answer takes a minute; whoever waits for us, such as
# the members of a session, must not give up first.
LIMIT_S = 60.0

_LASTING = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EEXIST,
        errno.EFBIG,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.EPERM,
        errno.EROFS,
    }
)


def is_lasting(error: BaseException) -> bool:
    """Tell whether trying again is of no use: no permission, no space, no such name."""
    lasting = (
        FileExistsError,
        FileNotFoundError,
        IsADirectoryError,
        NotADirectoryError,
        PermissionError,
    )
    return isinstance(error, lasting) or getattr(error, "errno", None) in _LASTING


def is_full(error: BaseException) -> bool:
    """Tell whether there is no space: lasting, but no fault of the name."""
    return getattr(error, "errno", None) in (errno.EDQUOT, errno.ENOSPC)


def in_words(error: BaseException) -> str:
    """Return a store's message, without the temporary name in it."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).rstrip(".")


def with_retries(
    what: str, function: Callable[[], T], *, waits_s: Sequence[float] | None = None
) -> T:
    """Call a function until it ends without an error of a store, a few times at most.

    Parameters
    ----------
    what : str
        What it does to what, for the log.
    function : callable
        Starts from the beginning each time.
    waits_s : sequence of float, optional
        Seconds before the second, third, ... try; no try begins later than a minute
        after the first.

    Returns
    -------
    object
        What the function returned.

    Raises
    ------
    OSError, FSTimeoutError
        The error of the last try; at once if it is lasting.
    """
    deadline = time.monotonic() + LIMIT_S
    for wait_s in WAITS_S if waits_s is None else waits_s:
        try:
            return function()
        except BROKEN as error:
            if is_lasting(error) or time.monotonic() + wait_s > deadline:
                raise
            # The first few are over before anybody wonders.
            level = logging.WARNING if wait_s >= 1 else logging.INFO
            logger.log(level, "%s failed, again in %g s: %s", what, wait_s, error)
        time.sleep(wait_s)
    return function()
