"""What runs in Spark's tasks to send rows to Dask's workers by Arrow Flight.

Executors need pyarrow with Flight and nothing of this package: pyspark carries the
functions by value.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

__all__ = [
    "FULL",
    "MANIFEST_SCHEMA",
    "NONE_TAKES",
    "NO_ROOM",
    "ROOM",
    "SERVER_NAME",
    "Access",
    "sender",
    "sender_of_blocks",
]

# A row a piece. What comes back to the driver is of one attempt a partition.
MANIFEST_SCHEMA = "partition int, attempt long, piece int, rows long, inbox int"

# What an inbox answers before it is sent a piece.
ROOM, NO_ROOM = b"room", b"no room"

# In place of an inbox: none has room.
FULL = -1

# By this the driver knows what a failed job says.
NONE_TAKES = "direct: a Dask worker must take what an executor sends, none does"

# What `distributed.Security.temporary` makes its certificates for.
SERVER_NAME = "dask-internal"

# As row groups of an export: a piece is a partition that a worker reads. A task holds
# one.
_PIECE_BYTES = 16 << 20

# Pieces that are written to a store wait in a line.
_PUT_S = 600.0


@dataclass(frozen=True)
class Access:
    """What opens the inboxes of a session.

    Attributes
    ----------
    token : str
        Demanded with every call.
    certificate : str or None
        Of all inboxes, in PEM; None where the cluster has no TLS.
    """

    token: str = field(repr=False)
    certificate: str | None = field(default=None, repr=False)

    def connect(self, uri: str) -> Any:
        """Return a pyarrow.flight.FlightClient, which is closed after use."""
        from pyarrow import flight

        if self.certificate is None:
            return flight.FlightClient(uri)
        return flight.FlightClient(
            uri,
            tls_root_certs=self.certificate.encode(),
            override_hostname=SERVER_NAME,
        )

    def options(self, limit_s: float) -> Any:
        """Return the options of a call."""
        from pyarrow import flight

        header = (b"authorization", f"Bearer {self.token}".encode())
        return flight.FlightCallOptions(timeout=limit_s, headers=[header])


def sender(
    uris: Sequence[str], access: Access, names: Sequence[str] | None = None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for ``mapInArrow`` that sends rows and yields the manifest.

    Parameters
    ----------
    uris : sequence of str
        Of the inboxes.
    access : Access
    names : sequence of str, optional
        What the columns are called, if the rows come with other names.
    """

    def send(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        partition, attempt = task.partitionId(), task.taskAttemptId()
        named = batches if names is None else (_named(one, names) for one in batches)
        for number, table in enumerate(_pieces(named, _PIECE_BYTES)):
            header = {
                "key": f"{partition}/{attempt}/{number}",
                "rows": table.num_rows,
                "bytes": table.nbytes,
            }
            # In turn, so that a large partition does not fill one worker.
            inbox = _put(uris, access, header, table, first=partition + number)
            row = (partition, attempt, number, table.num_rows, inbox)
            yield _manifest(row)
            if inbox == FULL:
                # The driver refuses the whole; a task that failed would be tried again.
                break
        for _ in batches:
            pass

    return send


def sender_of_blocks(
    rows_of: Callable[[Iterable[Any]], Iterable[Any]],
    send: Callable[[Iterable[Any]], Iterator[Any]],
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for ``mapPartitions`` that sends blocks, yields the manifest.

    Parameters
    ----------
    rows_of : callable
        Makes rows of blocks of the elements of a partition, ``(keys, arrays)``.
    send : callable
        What `sender` returned.
    """

    def send_blocks(elements: Iterable[Any]) -> Iterator[Any]:
        for batch in send(map(_batch, rows_of(elements))):
            yield from batch.to_pylist()

    return send_blocks


def _named(batch: Any, names: Sequence[str]) -> Any:
    """Return a batch whose columns have other names; older pyarrow has no method."""
    fields = [
        one.with_name(name) for one, name in zip(batch.schema, names, strict=True)
    ]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def _batch(row: tuple[Any, Any]) -> Any:
    keys, arrays = row
    columns = [pa.array([keys], pa.list_(pa.binary())), pa.array([arrays], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["keys", "arrays"])


def _manifest(row: tuple[int, ...]) -> Any:
    types = (pa.int32(), pa.int64(), pa.int32(), pa.int64(), pa.int32())
    names = ("partition", "attempt", "piece", "rows", "inbox")
    arrays = [pa.array([value], kind) for value, kind in zip(row, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _pieces(batches: Iterable[Any], most_bytes: int) -> Iterator[Any]:
    """Join and cut batches to tables of at most so many bytes, or one row."""
    waiting: list[Any] = []
    waiting_bytes = 0
    for batch in batches:
        for part in _cut(batch, most_bytes):
            if waiting and waiting_bytes + part.nbytes > most_bytes:
                yield pa.Table.from_batches(waiting)
                waiting, waiting_bytes = [], 0
            waiting.append(part)
            waiting_bytes += part.nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def _cut(batch: Any, most_bytes: int) -> Iterator[Any]:
    rows = batch.num_rows
    each = max(1, most_bytes * rows // max(1, batch.nbytes))
    for start in range(0, rows, each):
        yield batch.slice(start, each)


def _put(
    uris: Sequence[str], access: Access, header: dict[str, Any], table: Any, first: int
) -> int:
    """Return the number of the inbox that took a piece, `FULL` if none has room.

    Raises
    ------
    ConnectionError
        If none can be reached, or none can write.
    """
    reasons: list[str] = []
    for turn in range(len(uris)):
        inbox = (first + turn) % len(uris)
        try:
            if _put_into(uris[inbox], access, header, table):
                return inbox
        except (pa.ArrowException, OSError) as error:
            # It may have the piece all the same; only the manifest counts.
            reasons.append(f"{uris[inbox]}: {error}")
    if len(reasons) == len(uris):
        raise ConnectionError(f"{NONE_TAKES}: {reasons[0]}")
    return FULL


def _put_into(uri: str, access: Access, header: dict[str, Any], table: Any) -> bool:
    from pyarrow import flight

    descriptor = flight.FlightDescriptor.for_command(json.dumps(header).encode())
    with access.connect(uri) as client:
        options = access.options(_PUT_S)
        writer, answers = client.do_put(descriptor, table.schema, options)
        # Closing raises unless the inbox has the whole piece.
        with writer:
            answer = answers.read()
            has_room = answer is not None and answer.to_pybytes() == ROOM
            if has_room:
                writer.write_table(table.combine_chunks())
        return has_room
