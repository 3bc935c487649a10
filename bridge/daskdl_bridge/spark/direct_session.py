"""The inboxes of one call of `direct`: opened, filled by Spark's tasks, settled."""

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from distributed import Client, Security

from daskdl.checks import some
from daskdl.cluster.calls import call_each
from daskdl.data.retries import with_retries
from daskdl.errors import ClusterError, DataError, OptionError, WorkerLostError
from daskdl_bridge.spark import direct_sending
from daskdl_bridge.spark.column_names import with_plain_names
from daskdl_bridge.spark.direct_inbox import (
    Inbox,
    InboxOptions,
    close_inbox,
    kept_pieces,
    lost,
    open_inbox,
)
from daskdl_bridge.spark.direct_pieces import Spill
from daskdl_bridge.spark.direct_sending import Access
from daskdl_bridge.spark.direct_source import Piece
from daskdl_bridge.spark.direct_watch import WorkerWatch
from daskdl_bridge.spark.export import Export, carry_by_value
from daskdl_bridge.spark.tagged_job import cancelable
from daskdl_bridge.storage import filesystem

__all__ = ["Session", "Settled"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settled:
    """What the workers hold when a job is done.

    Attributes
    ----------
    pieces : tuple of Piece
        In the order of the rows.
    schema : pyarrow.Schema
    """

    pieces: tuple[Piece, ...]
    schema: Any


class Session:
    """The inboxes of one call of `direct`, on the driver.

    Parameters
    ----------
    client : distributed.Client
    memory_limit : int or None
        See :class:`InboxOptions`.
    spill : Spill or None
    worker_timeout_s : float
        How long a worker may take to answer, or send no heartbeat while it is sent
        rows.

    Attributes
    ----------
    options : InboxOptions
    is_closed : bool
    """

    def __init__(
        self,
        client: Client,
        memory_limit: int | None,
        spill: Spill | None,
        worker_timeout_s: float,
    ) -> None:
        self.options = _inbox_options(client, memory_limit, spill)
        self.is_closed = False
        self._client = client
        self._timeout_s = worker_timeout_s
        self._inboxes: list[Inbox] = []
        self._lost: str | None = None

    def open(self) -> None:
        """Start a server in every worker.

        Raises
        ------
        ClusterError
            If there is no worker, or one cannot listen.
        """
        spill = self.options.spill
        if spill is not None:
            fs, path = filesystem(spill.url, spill.storage_options)
            with_retries(f"{spill.url}: making it", lambda: fs.makedirs(path))
        asked = dict.fromkeys(self._client.nthreads(), (self.options,))
        if not asked:
            raise ClusterError("direct: a Dask worker must be there, got none.")
        answers = self._call(open_inbox, asked)
        for error in answers.failed.values():
            raise error
        self._inboxes = [Inbox(worker, uri) for worker, uri in answers.values.items()]
        if not self._inboxes:
            raise ClusterError(
                f"direct: workers must answer within {self._timeout_s:g} s, none did."
            )

    def push(
        self, spark: Any, data: Any, rows_of: Callable[[Any], Any] | None
    ) -> list[Any]:
        """Have Spark's tasks send all rows.

        Parameters
        ----------
        spark : pyspark.sql.SparkSession
        data : pyspark DataFrame or RDD
        rows_of : callable, optional
            Of an RDD: makes rows of blocks of what a partition holds.

        Returns
        -------
        list
            What the tasks tell: rows of `direct_sending.MANIFEST_SCHEMA`.

        Raises
        ------
        ClusterError
            If no worker takes what an executor sends.
        WorkerLostError
            If a worker is gone, or silent for too long.
        """
        carry_by_value(direct_sending)
        uris = [inbox.uri for inbox in self._inboxes]
        inboxes = {inbox.worker: inbox for inbox in self._inboxes}
        names = None if rows_of else tuple(data.columns)
        send = direct_sending.sender(uris, self.options.access, names)
        with (
            cancelable(spark) as cancel,
            WorkerWatch(self._client, inboxes, self._timeout_s, cancel) as watch,
        ):
            try:
                return _told(data, rows_of, send)
            except Exception as error:
                if watch.lost is not None:
                    self._lost, reason = watch.lost
                    said = lost(inboxes[self._lost], reason)
                    raise WorkerLostError(said) from error
                # On Connect and on classic Spark it is another class, and a long text.
                _, found, rest = str(error).partition(direct_sending.NONE_TAKES)
                if not found:
                    raise
                raise ClusterError(
                    f"{found}{rest.splitlines()[0]}. Executors must reach the workers "
                    f"at {some(uris)}, and those the export directory; else use "
                    "daskdl.spark.export."
                ) from error

    def settled(self, manifest: list[Any]) -> Settled:
        """Have the workers drop what does not count, and return what does.

        Raises
        ------
        OptionError
            If there was no room.
        DataError
            If there are no rows.
        WorkerLostError
            If a worker holds no longer what it took.
        """
        self._refuse_full(manifest)
        if not manifest:
            raise DataError("direct: data must have at least one row, got none.")
        pieces = self._pieces(manifest)
        schema, held = self._kept(pieces)
        placed = tuple(
            Piece(
                piece.key,
                piece.partition,
                piece.first_row,
                piece.rows,
                piece.inbox,
                held[piece.inbox.uri][piece.key].url,
            )
            for piece in pieces
        )
        return Settled(placed, schema)

    def close(self) -> None:
        """Free what the workers hold; harmless if that is done."""
        if self.is_closed:
            return
        self.is_closed = True
        # Who is silent is not waited for: it finds out when this client is gone.
        there = [one for one in self._client.nthreads() if one != self._lost]
        asked = dict.fromkeys(there, (self.options.access.token,))
        answers = self._call(close_inbox, asked)
        for worker, error in answers.failed.items():
            logger.warning("direct: %s must free what it held: %r", worker, error)
        spill = self.options.spill
        if spill is not None:
            files = Export(spill.url, "pieces", storage_options=spill.storage_options)
            files.delete_temp_files()

    def _refuse_full(self, manifest: list[Any]) -> None:
        if any(row["inbox"] == direct_sending.FULL for row in manifest):
            limit = self.options.memory_limit
            share = "a quarter of theirs" if limit is None else f"{limit:,} bytes each"
            raise OptionError(
                f"direct: memory_limit must hold all rows on {len(self._inboxes)} "
                f"workers, got {share}, which are full. Name an export_directory for "
                "the rest, raise memory_limit, or use daskdl.spark.export."
            )

    def _pieces(self, manifest: list[Any]) -> list[Piece]:
        pieces: list[Piece] = []
        first_row: defaultdict[int, int] = defaultdict(int)
        for row in sorted(manifest, key=lambda row: (row["partition"], row["piece"])):
            number = row["partition"]
            key = f"{number}/{row['attempt']}/{row['piece']}"
            inbox = self._inboxes[row["inbox"]]
            pieces.append(Piece(key, number, first_row[number], row["rows"], inbox))
            first_row[number] += row["rows"]
        return pieces

    def _kept(self, pieces: list[Piece]) -> tuple[Any, dict[str, Mapping[str, Any]]]:
        wanted: dict[str, list[str]] = {inbox.uri: [] for inbox in self._inboxes}
        for piece in pieces:
            wanted[piece.inbox.uri].append(piece.key)
        token = self.options.access.token
        asked = {
            inbox.worker: (token, inbox.uri, wanted[inbox.uri])
            for inbox in self._inboxes
        }
        answers = self._call(kept_pieces, asked)
        schemas, held = [], {}
        for inbox in self._inboxes:
            schema, there = answers.values.get(inbox.worker, (b"", {}))
            missing = set(wanted[inbox.uri]) - there.keys()
            if missing:
                reason = f"{len(missing)} pieces of it are gone"
                raise WorkerLostError(lost(inbox, reason))
            held[inbox.uri] = there
            schemas += [schema] if schema else []
        return pa.ipc.read_schema(pa.py_buffer(schemas[0])), held

    def _call(
        self, function: Callable[..., Any], asked: Mapping[str, tuple[Any, ...]]
    ) -> Any:
        return self._client.sync(
            call_each, self._client, function, asked, self._timeout_s
        )


def _told(data: Any, rows_of: Any, send: Callable[[Any], Any]) -> list[Any]:
    """Run the job, and return the rows that its tasks yield."""
    told: list[Any] = (
        with_plain_names(data)
        .mapInArrow(send, direct_sending.MANIFEST_SCHEMA)
        .collect()
        if rows_of is None
        else data.mapPartitions(
            direct_sending.sender_of_blocks(rows_of, send)
        ).collect()
    )
    return told


def _inbox_options(
    client: Client, memory_limit: int | None, spill: Spill | None
) -> InboxOptions:
    token, certificate, key = secrets.token_urlsafe(32), None, None
    if client.scheduler.address.startswith("tls"):
        # Of the session's own: Dask's are for its comms, and their keys stay there.
        own = Security.temporary()
        certificate, key = own.tls_ca_file, own.tls_worker_key
    return InboxOptions(Access(token, certificate), client.id, memory_limit, spill, key)
