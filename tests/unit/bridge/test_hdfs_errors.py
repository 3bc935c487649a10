"""Errors of hdfs-native become the kinds that callers tell apart."""

import pytest

from daskdl.data.retries import is_full, is_lasting
from daskdl.errors import OptionError, SourceNotFoundError
from daskdl_bridge.errors import (
    StorageConflictError,
    StorageCredentialsError,
    StorageError,
    StoragePermissionError,
    StorageQuotaError,
    StorageUnreachableError,
)
from daskdl_bridge.hdfs_errors import translated


def refusal(name, message="why", package="org.apache.hadoop.hdfs.protocol"):
    """Return an error as hdfs-native words what a NameNode refuses."""
    return RuntimeError(f'RPCError("{package}.{name}", "{message}\\n\\tat org.x(X:1)")')


KINDS = [
    (FileNotFoundError("x"), SourceNotFoundError, "to write it, it must exist"),
    (
        refusal("AccessControlException"),
        StoragePermissionError,
        "no permission to",
    ),
    (
        refusal("NSQuotaExceededException"),
        StorageQuotaError,
        "no quota is left",
    ),
    (
        refusal("DSQuotaExceededException"),
        StorageQuotaError,
        "no quota is left",
    ),
    (refusal("SafeModeException"), StorageError, "must have left safe mode .*why"),
    (refusal("StandbyException"), StorageUnreachableError, "all are standby"),
    (refusal("AlreadyBeingCreatedException"), StorageConflictError, "no other client"),
    (
        FileExistsError("Failed to APPEND_FILE /x for a because this file lease is"),
        StorageConflictError,
        "no other client",
    ),
    (refusal("RecoveryInProgressException"), StorageConflictError, "no other client"),
    (refusal("LeaseExpiredException"), StorageConflictError, "no other client"),
    (refusal("FileAlreadyExistsException"), FileExistsError, "nothing may be there"),
    (refusal("ParentNotDirectoryException"), NotADirectoryError, "got a file"),
    (refusal("SecretManager$InvalidToken"), StorageCredentialsError, "TOKEN_FILE"),
    (
        OSError("Connection refused (111)"),
        StorageUnreachableError,
        "none accepts",
    ),
    (
        refusal("IOException", "Requested replication factor of 600 exceeds maximum"),
        OptionError,
        "must be what HDFS allows: .*600",
    ),
    (refusal("NewException"), StorageError, "HDFS could not write: RPC.*NewException"),
]


@pytest.mark.parametrize(("raised", "kind", "message"), KINDS)
def test_errors_are_told_apart(raised, kind, message):
    found = translated(raised, "write", "hdfs://ns/x")
    assert type(found) is kind
    with pytest.raises(kind, match=rf"hdfs://ns/x: .*{message}"):
        raise found


def test_without_a_ticket_both_ways_to_one_are_told():
    error = RuntimeError('GSSAPIError("GSS_S_NO_CRED", "No credentials were supplied")')
    found = translated(error, "list", "hdfs://ns/x")
    assert isinstance(found, StorageCredentialsError)
    assert isinstance(found, PermissionError)
    for way in ("kinit", "KRB5_CLIENT_KTNAME=FILE:", "kerberos_keytab", "NO_CRED"):
        assert way in str(found)


@pytest.mark.parametrize(
    "text",
    [
        'SASLError("Unsupported mechanism")',
        "NoSASLMechanism",
        'FatalRPCError("javax.security.sasl.SaslException", "GSS initiate failed")',
        'OperationFailed("Failed to load libgssapi_krb")',
    ],
)
def test_all_that_hinders_a_login_is_about_credentials(text):
    found = translated(RuntimeError(text), "list", "hdfs://ns/x")
    assert type(found) is StorageCredentialsError


def test_a_path_about_kerberos_is_no_lack_of_a_ticket():
    error = refusal("NewException", "cannot look at /gss/Kerberos/SASL")
    assert type(translated(error, "list", "hdfs://ns/x")) is StorageError


@pytest.mark.parametrize("error", [FileExistsError("there"), KeyError("own")])
def test_what_is_clear_or_unknown_stays(error):
    assert translated(error, "list", "hdfs://ns/x") is error


@pytest.mark.parametrize(
    ("name", "lasting"),
    [
        ("AccessControlException", True),
        ("NSQuotaExceededException", True),
        ("SafeModeException", False),
        ("StandbyException", False),
        ("AlreadyBeingCreatedException", False),
    ],
)
def test_only_what_time_does_not_mend_is_lasting(name, lasting):
    assert is_lasting(translated(refusal(name), "write", "hdfs://ns/x")) is lasting


def test_a_used_up_quota_is_a_lack_of_space():
    error = translated(refusal("DSQuotaExceededException"), "write", "hdfs://ns/x")
    assert is_full(error)
    assert "Errno" not in str(error)
