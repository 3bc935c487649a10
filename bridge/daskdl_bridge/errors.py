"""Errors of storage, by cause: permission, quota, conflict, timeout, unreachable.

They are the built-ins that file operations raise, so that ``except OSError`` keeps its
meaning::

    daskdl.errors.DataError
    └── daskdl.errors.StorageError (OSError)     a store refused or broke off
        ├── StoragePermissionError (PermissionError)   it does not let us do this
        │   └── StorageCredentialsError                it wants to know who asks
        ├── StorageQuotaError          a quota is used up; errno is EDQUOT
        ├── StorageConflictError       another client writes this file
        ├── StorageTimeoutError (TimeoutError)   it did not answer in time
        └── StorageUnreachableError (ConnectionError)   nobody answers for the store
"""

import errno

from daskdl.errors import StorageError

__all__ = [
    "StorageConflictError",
    "StorageCredentialsError",
    "StorageError",
    "StoragePermissionError",
    "StorageQuotaError",
    "StorageTimeoutError",
    "StorageUnreachableError",
]


class StoragePermissionError(StorageError, PermissionError):
    """A store does not know us, or does not let us do this."""


class StorageCredentialsError(StoragePermissionError):
    """A store wants to know who asks: no ticket or token, or one that has ended."""


class StorageQuotaError(StorageError):
    """The quota of a directory is used up."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        # By it daskdl.data.retries knows that waiting is of no use.
        self.errno = errno.EDQUOT


class StorageConflictError(StorageError):
    """Another client has the lease of this file: it writes it, or has just died."""


class StorageTimeoutError(StorageError, TimeoutError):
    """A store did not answer within the time limit."""


class StorageUnreachableError(StorageError, ConnectionError):
    """No server of the store accepts connections, or none of them is active."""
