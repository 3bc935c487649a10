"""Errors of storage, by cause: permission, timeout, unreachable.

They are the built-ins that file operations raise, so that ``except OSError`` keeps its
meaning::

    daskdl.errors.DataError
    └── daskdl.errors.StorageError (OSError)     a store refused or broke off
        ├── StoragePermissionError (PermissionError)   it wants to know who asks
        ├── StorageTimeoutError (TimeoutError)   it did not answer in time
        └── StorageUnreachableError (ConnectionError)   nobody listens there
"""

from daskdl.errors import StorageError

__all__ = [
    "StorageError",
    "StoragePermissionError",
    "StorageTimeoutError",
    "StorageUnreachableError",
]


class StoragePermissionError(StorageError, PermissionError):
    """A store does not know us, or does not let us do this."""


class StorageTimeoutError(StorageError, TimeoutError):
    """A store did not answer within the time limit."""


class StorageUnreachableError(StorageError, ConnectionError):
    """No server of the store accepts connections."""
