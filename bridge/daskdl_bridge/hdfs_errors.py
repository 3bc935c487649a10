"""What the errors of hdfs-native mean, by the Java exception in their text.

hdfs-native has types of its own for a missing and an existing file; all else that a
NameNode refuses is ``RuntimeError('RPCError("org.apache...Exception", "...")')``.
"""

import re
from collections.abc import Callable

from daskdl.errors import OptionError, SourceNotFoundError
from daskdl_bridge.errors import (
    StorageConflictError,
    StorageCredentialsError,
    StorageError,
    StoragePermissionError,
    StorageQuotaError,
    StorageUnreachableError,
)

__all__ = ["is_of_credentials", "shortened", "translated"]

# Not these words anywhere: a path may hold them.
_OF_CREDENTIALS = re.compile(
    r"(GSSAPIError|SASLError|NoSASLMechanism|(Fatal)?RPCError\(\"javax\.security\.sasl)"
    r"|.*Failed to load libgssapi"
)
_OF_SOCKETS = ("refused", "unreachable", "lookup address")

_Kind = tuple[Callable[[str], BaseException], str]

_CONFLICT: _Kind = (
    StorageConflictError,
    "to {action} it, no other client may be writing it; one is, or died not long ago",
)
_QUOTA: _Kind = (
    StorageQuotaError,
    "no quota is left to {action} it. Remove files, or have it raised (dfsadmin)",
)

# hdfs-native takes AlreadyBeingCreatedException for a file that exists.
_OF_LEASES = re.compile(r"Failed to [A-Z]+_FILE .* for ")

# Of an IOException that says no more by its class.
_OF_OPTIONS = ("Requested replication factor", "Specified block size")

# By the simple name of the Java class.
_KINDS: dict[str, _Kind] = {
    "AccessControlException": (StoragePermissionError, "no permission to {action}"),
    "AlreadyBeingCreatedException": _CONFLICT,
    "LeaseExpiredException": _CONFLICT,
    "RecoveryInProgressException": _CONFLICT,
    "DSQuotaExceededException": _QUOTA,
    "NSQuotaExceededException": _QUOTA,
    "QuotaByStorageTypeExceededException": _QUOTA,
    "StandbyException": (
        StorageUnreachableError,
        "a NameNode must be active to {action} it, all are standby",
    ),
    "SafeModeException": (
        StorageError,
        "to {action} it, the NameNode must have left safe mode (dfsadmin -safemode)",
    ),
    "FileAlreadyExistsException": (
        FileExistsError,
        "to {action} it, nothing may be there yet",
    ),
    "ParentNotDirectoryException": (
        NotADirectoryError,
        "to {action} it, a directory must be above it, got a file",
    ),
    "InvalidToken": (
        StorageCredentialsError,
        "to {action} it, the token in HADOOP_TOKEN_FILE_LOCATION must hold; it ended",
    ),
}
_CLASS = re.compile(r"\b(" + "|".join(_KINDS) + r")\b")


def translated(error: BaseException, action: str, url: str) -> BaseException:
    """Return the error that says by its type what was wrong.

    Parameters
    ----------
    error : BaseException
        Of hdfs-native.
    action, url : str
        What was done to what: ``list``, ``hdfs://mini/data``.
    """
    text = shortened(error)
    if isinstance(error, FileNotFoundError):
        return SourceNotFoundError(f"{url}: to {action} it, it must exist.")
    if isinstance(error, FileExistsError) and _OF_LEASES.match(text):
        return _of_kind(_CONFLICT, action, url, text)
    if isinstance(error, FileExistsError) or not isinstance(
        error, OSError | RuntimeError
    ):
        return error
    named = _CLASS.search(text)
    if named is not None:
        return _of_kind(_KINDS[named[1]], action, url, text)
    if any(words in text for words in _OF_OPTIONS):
        return OptionError(
            f"{url}: replication and block_size must be what HDFS allows: {text}"
        )
    if is_of_credentials(text):
        return StorageCredentialsError(
            f"{url}: HDFS must know who wants to {action} it, there is no valid "
            "Kerberos ticket. Get one with kinit, name a keytab in the environment, "
            "KRB5_CLIENT_KTNAME=FILE:..., or give kerberos_principal and "
            f"kerberos_keytab in storage_options. ({text})"
        )
    if any(word in text for word in _OF_SOCKETS):
        return StorageUnreachableError(
            f"{url}: a NameNode or DataNode must be up to {action} it, none accepts "
            f"connections: {text}"
        )
    return StorageError(f"{url}: HDFS could not {action}: {text}")


def shortened(error: BaseException) -> str:
    """Return an error's text in one line, without the most of a Java trace."""
    return " ".join(str(error).split())[:300]


def is_of_credentials(text: str) -> bool:
    """Tell whether a text of hdfs-native is about who asks."""
    return _OF_CREDENTIALS.match(text) is not None


def _of_kind(kind: _Kind, action: str, url: str, text: str) -> BaseException:
    error, message = kind
    return error(f"{url}: {message.format(action=action)}: {text}")
