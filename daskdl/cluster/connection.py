"""The error of a lost scheduler, in place of the errors that follow from it.

Without a scheduler no worker answers, tasks are cancelled and calls break off, each
with an error of its own that says nothing of the cause.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import CancelledError, Client

from daskdl.errors import (
    ClusterError,
    DaskdlError,
    OptionError,
    SchedulerUnreachableError,
)

# The client learns of it from another connection than the one that broke first.
NOTICED_WITHIN_S = 0.5
_LOOK_AGAIN_S = 0.02
_CONSEQUENCES = (ClusterError, OSError, asyncio.TimeoutError, CancelledError)


def check_client(who: str, client: object) -> None:
    """Refuse what is no client, by what clients are used for.

    Raises
    ------
    OptionError
    """
    if not hasattr(client, "submit"):
        raise OptionError(
            f"{who}: client must be a distributed.Client, got {type(client).__name__}."
        )


@contextmanager
def scheduler_must_answer(client: Client, who: str, advice: str) -> Iterator[None]:
    """Raise that the scheduler is gone for any error of the block that follows from it.

    Parameters
    ----------
    client : Client
    who : str
        Whose work it is, for the message.
    advice : str
        What to do, for the message.

    Raises
    ------
    SchedulerUnreachableError
        Instead of what the block raised, which is its cause; or before the block, whose
        calls would try to connect for 30 s.
    """
    if client.status != "running":
        raise _gone(client, who, advice)
    try:
        yield
    except SchedulerUnreachableError:
        raise
    except Exception as error:
        if not _comes_of_that(error) or not _is_cut_off(client):
            raise
        raise _gone(client, who, advice) from error


def _gone(client: Client, who: str, advice: str) -> SchedulerUnreachableError:
    if client.scheduler is None:
        return SchedulerUnreachableError(
            f"{who}: the client must be open, it was closed. Call this within the "
            "block that opened it, or make another client and front end."
        )
    return SchedulerUnreachableError(
        f"{who}: the scheduler must stay reachable, the connection to "
        f"{client.scheduler.address} broke. {advice}"
    )


def _comes_of_that(error: BaseException) -> bool:
    if isinstance(error, DaskdlError):
        return isinstance(error, ClusterError)
    if isinstance(error, _CONSEQUENCES):
        # Those with a name are of files.
        return getattr(error, "filename", None) is None
    # Of a client that gave the scheduler up, and closed itself.
    return type(error).__module__.partition(".")[0] == "distributed"


def _is_cut_off(client: Client) -> bool:
    latest_s = time.monotonic() + NOTICED_WITHIN_S
    while client.status == "running":
        if time.monotonic() > latest_s:
            return False
        time.sleep(_LOOK_AGAIN_S)
    return True
