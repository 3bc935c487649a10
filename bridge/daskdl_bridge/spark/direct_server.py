"""The Flight server in a Dask worker that takes pieces and gives them to others."""

import hmac
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import flight

from daskdl_bridge.spark.direct_pieces import (
    HeldPiece,
    HeldPieces,
    in_one_buffer,
    table_of,
)
from daskdl_bridge.spark.direct_sending import NO_ROOM, ROOM

__all__ = ["InboxServer"]


class InboxServer(flight.FlightServerBase):
    """Takes pieces by ``do_put``, whole or not at all; gives them by ``do_get``.

    Parameters
    ----------
    uri : str
        ``grpc://HOST:0`` or ``grpc+tls://HOST:0``; the port is chosen.
    pieces : HeldPieces
    token : str
        What each call must bear.
    certificate, key : str, optional
        In PEM, for TLS.
    """

    def __init__(
        self,
        uri: str,
        pieces: HeldPieces,
        token: str,
        certificate: str | None = None,
        key: str | None = None,
    ) -> None:
        self._pieces = pieces
        super().__init__(
            uri,
            tls_certificates=[] if certificate is None else [(certificate, key)],
            middleware={"token": _TokenDemanded(token)},
        )

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Take a piece: into memory, or to a file, or refuse it for want of room."""
        header = json.loads(descriptor.command)
        pieces, key = self._pieces, header["key"]
        if not pieces.takes_more:
            writer.write(NO_ROOM)
        elif pieces.reserve(key, header["bytes"]):
            try:
                writer.write(ROOM)
                buffer = _whole(reader, header)
                pieces.keep(key, buffer, HeldPiece(header["rows"]))
            except BaseException:
                pieces.release(key)
                raise
        elif pieces.spills:
            with pieces.one_at_a_time:
                writer.write(ROOM)
                pieces.write(key, _whole(reader, header), header["rows"])
        else:
            writer.write(NO_ROOM)

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Give some columns of a piece."""
        wanted = json.loads(ticket.ticket)
        try:
            buffer = self._pieces.buffer(wanted["key"])
        except LookupError as error:
            raise flight.FlightServerError(f"no piece {wanted['key']} here") from error
        return flight.RecordBatchStream(table_of(buffer).select(wanted["columns"]))


def _whole(reader: Any, header: dict[str, Any]) -> Any:
    """Return all of a piece; what a task that was killed left of it is refused."""
    rows = n_bytes = 0

    def counted() -> Iterator[Any]:
        nonlocal rows, n_bytes
        for chunk in reader:
            rows += chunk.data.num_rows
            n_bytes += chunk.data.nbytes
            # More than was announced would not fit into what is reserved.
            if rows > header["rows"] or n_bytes > 2 * header["bytes"] + _SMALL_BYTES:
                break
            yield chunk.data

    buffer = in_one_buffer(reader.schema, counted())
    if rows != header["rows"]:
        raise flight.FlightServerError(
            f"{header['key']}: must have {header['rows']} rows, got {rows}"
        )
    return pa.py_buffer(buffer)


# Padding of the buffers of a few rows.
_SMALL_BYTES = 64 << 10


class _TokenDemanded(flight.ServerMiddlewareFactory):
    def __init__(self, token: str) -> None:
        self._wanted = f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: dict[str, list[Any]]) -> None:
        given = [str(one).encode() for one in headers.get("authorization", [])]
        if not any(hmac.compare_digest(one, self._wanted) for one in given):
            raise flight.FlightUnauthenticatedError("the token of the session, please")
