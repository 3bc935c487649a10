"""Inboxes of a session in Dask workers: opened, settled and closed by calls to each."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dask.system import CPU_COUNT
from distributed.comm import get_address_host
from distributed.protocol.pickle import dumps
from distributed.system import MEMORY_LIMIT

from daskdl.errors import ClusterError, WorkerLostError
from daskdl_bridge.spark.direct_pieces import HeldPiece, HeldPieces, Spill
from daskdl_bridge.spark.direct_sending import Access

__all__ = [
    "Inbox",
    "InboxOptions",
    "close_inbox",
    "kept_pieces",
    "naming_lost_inbox",
    "open_inbox",
    "pieces_here",
]

logger = logging.getLogger(__name__)

# Of a worker's memory. The examples that are made of the pieces take up to as much.
_SHARE = 1 / 4

_LOOK_EVERY_S = 10.0


@dataclass(frozen=True)
class InboxOptions:
    """What the inboxes of a session have in common.

    Attributes
    ----------
    access : Access
    client : str
        Id of the Dask client; what it leaves when it dies is freed.
    memory_limit : int or None
        Bytes for the pieces of a worker, a quarter of its own limit if None.
    spill : Spill or None
    key : str or None
        Of the certificate, in PEM.
    """

    access: Access
    client: str
    memory_limit: int | None = None
    spill: Spill | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Inbox:
    """Where an inbox is.

    Attributes
    ----------
    worker : str
        Address of the Dask worker.
    uri : str
        Of its Flight server.
    """

    worker: str
    uri: str


@dataclass(frozen=True)
class _Open:
    server: Any
    pieces: HeldPieces
    watch: "asyncio.Task[None]"


# By token and URI: readers run in any thread and find what their own process holds.
_OPEN: dict[tuple[str, str], _Open] = {}
_LOCK = threading.Lock()


async def open_inbox(options: InboxOptions, dask_worker: Any) -> str:
    """Start a Flight server on the address that the worker is known by. On its loop.

    Returns
    -------
    str
        Its URI.

    Raises
    ------
    ClusterError
        If the worker cannot listen there.
    """
    from daskdl_bridge.spark.direct_server import InboxServer

    access = options.access
    host = _host(dask_worker.address)
    scheme = "grpc" if access.certificate is None else "grpc+tls"
    limit = options.memory_limit
    pieces = HeldPieces(
        int(_SHARE * _memory_limit(dask_worker)) if limit is None else limit,
        options.spill,
    )
    try:
        server = InboxServer(
            f"{scheme}://{host}:0",
            pieces,
            access.token,
            access.certificate,
            options.key,
        )
    except OSError as error:
        raise ClusterError(
            f"direct: worker {dask_worker.address} must be able to listen at {host}, "
            f"it is not: {error}. Use daskdl.spark.export there."
        ) from error
    uri = f"{scheme}://{host}:{server.port}"
    watch = asyncio.ensure_future(_close_after(options, uri, dask_worker))
    with _LOCK:
        _OPEN[access.token, uri] = _Open(server, pieces, watch)
    return uri


def kept_pieces(
    token: str, uri: str, keys: Sequence[str]
) -> tuple[bytes, Mapping[str, HeldPiece]]:
    """Drop all other pieces of an inbox; see `HeldPieces.keep_only`."""
    pieces = pieces_here(token, uri)
    return (b"", {}) if pieces is None else pieces.keep_only(keys)


def pieces_here(token: str, uri: str) -> HeldPieces | None:
    """Return the pieces of an inbox of this process, None if it has no such inbox."""
    with _LOCK:
        there = _OPEN.get((token, uri))
    return None if there is None else there.pieces


async def close_inbox(token: str, dask_worker: Any) -> None:
    """Stop the servers of a session in this process and free what they hold."""
    with _LOCK:
        keys = [key for key in _OPEN if key[0] == token]
        closed = [_OPEN.pop(key) for key in keys]
    for one in closed:
        if one.watch is not asyncio.current_task():
            one.watch.get_loop().call_soon_threadsafe(one.watch.cancel)
        one.pieces.clear()
        # It waits for calls that run.
        await asyncio.to_thread(one.server.shutdown)


@contextmanager
def naming_lost_inbox(inbox: Inbox) -> Iterator[None]:
    """Turn errors of a call to an inbox into one that says what to do.

    Raises
    ------
    WorkerLostError
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, LookupError) as error:
        raise WorkerLostError(lost(inbox, str(error))) from error


def lost(inbox: Inbox, reason: str) -> str:
    """Return the message of a worker that went with the rows that it held."""
    return (
        f"direct: worker {inbox.worker} must hold its rows until the block ends, it "
        f"does not: {reason}. They went with it: hand the data over again, or use "
        "daskdl.spark.export, whose files outlive workers."
    )


async def _close_after(options: InboxOptions, uri: str, worker: Any) -> None:
    """Close the inboxes of a session when its client is gone without doing so."""
    call = {
        "function": dumps(_is_client),
        "args": dumps((options.client,)),
        "kwargs": dumps({}),
    }
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        # A scheduler that does not answer ends the worker, or is asked again.
        with contextlib.suppress(OSError):
            answer = await worker.scheduler.run_function(**call, wait=True)
            if answer.get("status") == "OK" and not answer["result"]:
                break
    logger.info("direct: the client of %s is gone, it is closed", uri)
    await close_inbox(options.access.token, worker)


def _is_client(client: str, dask_scheduler: Any) -> bool:
    return client in dask_scheduler.clients


def _host(address: str) -> str:
    # Workers that are threads of this process are known by no address of a network.
    host = "127.0.0.1" if address.startswith("inproc") else get_address_host(address)
    return f"[{host}]" if ":" in host else host


def _memory_limit(worker: Any) -> float:
    limit = worker.memory_manager.memory_limit
    if limit:
        return float(limit)
    return float(MEMORY_LIMIT * min(1.0, worker.state.nthreads / CPU_COUNT))
