"""What storage does wrong, as errors that callers can tell apart.

They belong below :class:`daskdl.errors.DataError` and are the built-ins that file
operations raise, so that ``except OSError`` keeps its meaning::

    DataError
    └── StorageError (OSError)                   a store refused or broke off
        ├── StorageTimeoutError (TimeoutError)   it did not answer in time
        └── StorageUnreachableError (ConnectionError)   nobody listens there
"""

from daskdl.errors import DataError

__all__ = ["StorageError", "StorageTimeoutError", "StorageUnreachableError"]


class StorageError(OSError, DataError):
    """A store refused an operation or broke it off; the message names the path."""


class StorageTimeoutError(StorageError, TimeoutError):
    """A store did not answer within the time limit."""


class StorageUnreachableError(StorageError, ConnectionError):
    """No server of the store accepts connections."""
