"""A live DataFrame in the memory of Dask's workers, with no store between.

Spark's tasks push their rows to the workers by Arrow Flight, what DL4J called
``RDDTrainingApproach.Direct``. What comes back to the driver, of one attempt of each
task, says which rows count.
"""

import logging
import secrets
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from dask.utils import parse_bytes
from distributed import Client, Security

from daskdl.checks import check_positive, some
from daskdl.cluster.calls import call_each
from daskdl.data.retries import with_retries
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import (
    ClusterError,
    DataError,
    MissingExtraError,
    OptionError,
    WorkerLostError,
)
from daskdl.option_types import with_checked_types
from daskdl_bridge.spark import direct_sending
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
from daskdl_bridge.spark.direct_source import Piece, open_pieces
from daskdl_bridge.spark.directory import (
    DIRECTORY_SETTING,
    DIRECTORY_VARIABLE,
    export_directory,
)
from daskdl_bridge.spark.export import Export, carry_by_value, chosen_columns
from daskdl_bridge.spark.kinds import is_frame
from daskdl_bridge.spark.running_clusters import check_slots
from daskdl_bridge.spark.session import setting
from daskdl_bridge.storage import filesystem, join_url

__all__ = ["DirectData", "direct"]

logger = logging.getLogger(__name__)

_NAME = "Spark DataFrame"
# A worker may be in a kernel that holds its event loop.
_ANSWER_S = 60.0


@dataclass(eq=False)
class DirectData:
    """Rows of a DataFrame that Dask's workers hold, to be given wherever it may be.

    A context manager: on the way out the workers' servers are closed, their memory is
    freed and what they wrote is removed. Spark may stop before.

    Attributes
    ----------
    rows : int
        Number of rows.
    pieces : tuple of Piece
        Where they are, in their order.
    """

    rows: int
    pieces: tuple[Piece, ...]
    _schema: Any = field(repr=False)
    _session: "_Session" = field(repr=False)

    def open(self, options: SourceOptions) -> Source:
        """Return partitions of what the workers hold; see `open_pieces`.

        Raises
        ------
        OptionError
            If the block has ended.
        """
        session = self._session
        if session.is_closed:
            raise OptionError(
                "direct: data must be given within their with block, it has ended: the "
                "workers hold nothing any more."
            )
        access = session.options.access
        return open_pieces(_NAME, self.pieces, self._schema, access, options)

    @property
    def storage_options(self) -> dict[str, Any]:
        """How workers reach what they wrote."""
        spill = self._session.options.spill
        return {} if spill is None else spill.storage_options

    def close(self) -> None:
        """Free what the workers hold; harmless if that is done."""
        self._session.close()

    def __enter__(self) -> "DirectData":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@with_checked_types
def direct(
    frame: Any,
    client: Client,
    *,
    columns: Sequence[str] | None = None,
    memory_limit: int | str | None = None,
    export_directory: str | None = None,
    storage_options: dict[str, Any] | None = None,
) -> DirectData:
    """Have Spark send a DataFrame into the memory of Dask's workers.

    Parameters
    ----------
    frame : pyspark DataFrame
        Executors need pyarrow with Flight, and must reach the workers at the addresses
        by which Dask knows them, on ports of their choice.
    client : distributed.Client
        All workers that are there hold a part. Those that come later read from them.
    columns : sequence of str, optional
        All if not given.
    memory_limit : int or str, optional
        Of the rows that one worker holds: bytes, or ``"2 GiB"``. A quarter of the
        worker's own limit if not given. The examples that it makes of rows come beside
        that.
    export_directory : str, optional
        Where workers write what is beyond: a directory that Spark's executors and all
        workers see, or what `daskdl_bridge.spark.directory` names by default.
    storage_options : dict, optional
        How this process and the workers reach that store.

    Returns
    -------
    DirectData
        To be used in a ``with`` block.

    Raises
    ------
    OptionError
        If `frame` is no DataFrame, or a stream; if workers have no room and there is no
        export directory, or one that not all see; if workers hold all of Spark's slots.
    DataError
        If there are no rows.
    ClusterError
        If no worker is there, or none takes what an executor sends.
    WorkerLostError
        If a worker went while it was sent rows.

    Notes
    -----
    A worker that dies takes its rows with it; a fit then ends with a `WorkerLostError`.
    Where that is too dear, use :func:`daskdl_bridge.spark.export.export`.
    """
    if not is_frame(frame):
        raise OptionError(
            "direct: frame must be a DataFrame of Spark, got "
            f"{type(frame).__module__}.{type(frame).__qualname__}. Use "
            "daskdl.spark.export for an RDD, and paths as they are."
        )
    check_slots("direct", frame.sparkSession)
    _check_flight()
    chosen = chosen_columns("direct", frame, columns)
    limit = _bytes(memory_limit)
    spill = _spill(frame.sparkSession, client, export_directory, storage_options)
    session = _Session(client, _inbox_options(client, limit, spill))
    try:
        session.open()
        manifest = session.push(chosen)
        return session.settled(manifest)
    except BaseException:
        session.close()
        raise


class _Session:
    """The inboxes of one call of `direct`, on the driver."""

    def __init__(self, client: Client, options: InboxOptions) -> None:
        self.options = options
        self.is_closed = False
        self._client = client
        self._inboxes: list[Inbox] = []

    def open(self) -> None:
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
                f"direct: workers must answer within {_ANSWER_S:g} s, none did."
            )

    def push(self, frame: Any) -> list[Any]:
        """Return what the tasks tell: rows of `direct_sending.MANIFEST_SCHEMA`."""
        carry_by_value(direct_sending)
        uris = [inbox.uri for inbox in self._inboxes]
        send = direct_sending.sender(uris, self.options.access)
        try:
            told: list[Any] = frame.mapInArrow(
                send, direct_sending.MANIFEST_SCHEMA
            ).collect()
        except Exception as error:
            # On Connect and on classic Spark it is another class, and a long text.
            _, found, rest = str(error).partition(direct_sending.NONE_TAKES)
            if not found:
                raise
            raise ClusterError(
                f"{found}{rest.splitlines()[0]}. Executors must reach the workers at "
                f"{some(uris)}, and those the export directory; else use "
                "daskdl.spark.export."
            ) from error
        return told

    def settled(self, manifest: list[Any]) -> DirectData:
        """Have the workers drop what does not count, and return what does."""
        self._refuse_full(manifest)
        if not manifest:
            raise DataError("direct: frame must have at least one row, got none.")
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
        return DirectData(sum(piece.rows for piece in placed), placed, schema, self)

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        asked = dict.fromkeys(self._client.nthreads(), (self.options.access.token,))
        answers = self._call(close_inbox, asked)
        for worker, error in answers.failed.items():
            logger.warning("direct: %s must free what it held: %r", worker, error)
        spill = self.options.spill
        if spill is not None:
            there = Export(spill.url, _NAME, storage_options=spill.storage_options)
            there.delete_temp_files()

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
        return self._client.sync(call_each, self._client, function, asked, _ANSWER_S)


def _check_flight() -> None:
    try:
        import pyarrow.flight  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "direct: needs pyarrow with Flight here, on the workers and on Spark's "
            "executors. Run: pip install pyarrow."
        ) from error


def _bytes(memory_limit: int | str | None) -> int | None:
    if memory_limit is None:
        return None
    try:
        n_bytes = parse_bytes(memory_limit)
    except ValueError as error:
        raise OptionError(
            f"direct: memory_limit must be bytes or a size such as '2 GiB', got "
            f"{memory_limit!r}."
        ) from error
    return int(check_positive("direct", "memory_limit", n_bytes))


def _spill(
    session: Any,
    client: Client,
    given: str | None,
    storage_options: dict[str, Any] | None,
) -> Spill | None:
    named = given or setting(session, DIRECTORY_SETTING, DIRECTORY_VARIABLE)
    if named is None:
        return None
    options = dict(storage_options or {})
    with client.as_current():
        above = export_directory(session, named, options)
    return Spill(join_url(above, f"daskdl-direct-{uuid.uuid4().hex}"), options)


def _inbox_options(
    client: Client, limit: int | None, spill: Spill | None
) -> InboxOptions:
    token, certificate, key = secrets.token_urlsafe(32), None, None
    if client.scheduler.address.startswith("tls"):
        # Of the session's own: Dask's are for its comms, and their keys stay there.
        own = Security.temporary()
        certificate, key = own.tls_ca_file, own.tls_worker_key
    return InboxOptions(Access(token, certificate), client.id, limit, spill, key)
