"""The errors that end a session, in words."""

from collections.abc import Iterable, Mapping

from daskdl.checks import some
from daskdl.cluster.kept_network import NobodyLeftError
from daskdl.cluster.reports import MemberFailed
from daskdl.cluster.session_members import SESSION_ADVICE
from daskdl.errors import ClusterError, DaskdlError, StepTimeoutError

_BUSY = "Are they busy with other tasks?"


def none_is_left(address: str, why: str | None) -> NobodyLeftError:
    """Return the error of a session whose last member, at `address`, went."""
    return NobodyLeftError(
        f"Session: at least one worker must be left, got none after {address} "
        f"went{f', {why}' if why else ''}. {SESSION_ADVICE}"
    )


def none_reports(addresses: Iterable[str], limit_s: float) -> StepTimeoutError:
    """Return the error of a session whose members are all silent."""
    return StepTimeoutError(
        f"Session: workers {sorted(addresses)} must report within {limit_s:g} s, none "
        "did. Raise peer_timeout_s if a minibatch takes longer."
    )


def some_do_not_start(
    waiting: Iterable[str], paused: Mapping[str, str], timeout_s: float
) -> StepTimeoutError:
    """Return the error of a session for whose members nobody waits any longer.

    Parameters
    ----------
    waiting : iterable of str
        Addresses of those that have not started.
    paused : mapping of str to str
        What Dask says of workers that take no task, by address.
    timeout_s : float
    """
    states = [f"{a} {paused[a]}" for a in waiting if a in paused]
    return StepTimeoutError(
        f"Session: workers {sorted(waiting)} must start within {timeout_s:g} s, they "
        f"did not. {f'{some(states)}.' if states else _BUSY}"
    )


def of_member(failed: MemberFailed, address: str) -> DaskdlError:
    """Return the error of a session, one of whose members failed at `address`."""
    if isinstance(failed.error, DaskdlError):
        return failed.error
    error = ClusterError(
        f"Session: the task on {address} must end in order, it failed with "
        f"{failed.error!r}."
    )
    error.__cause__ = failed.error
    return error
