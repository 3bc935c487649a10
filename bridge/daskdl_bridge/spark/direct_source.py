"""Pieces that workers hold, as partitions: each is read by whoever needs it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from daskdl.data.row_number import NoRowNumber
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.element_kinds import Keys
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.footers import Footer, settled_columns
from daskdl_bridge.readers.reader_at import ReaderAt
from daskdl_bridge.readers.table_reader import TablePartition, WholeReader
from daskdl_bridge.spark.block_source import BlockPartition, BlockReader
from daskdl_bridge.spark.direct_inbox import Inbox, naming_lost_inbox, pieces_here
from daskdl_bridge.spark.direct_pieces import in_one_buffer, table_of
from daskdl_bridge.spark.direct_sending import Access
from daskdl_bridge.storage import open_input

__all__ = ["Piece", "open_pieces", "open_pieces_of_blocks"]

# Of a piece that a worker gives to another one.
_GET_S = 120.0


@dataclass(frozen=True)
class Piece:
    """Some rows of a partition of Spark's.

    Attributes
    ----------
    key : str
        What its inbox calls it.
    partition : int
        Number of Spark's partition.
    first_row, rows : int
        Within the partition.
    inbox : Inbox
        Who took it.
    url : str or None
        The file that the inbox wrote it to; None if it is in memory.
    """

    key: str
    partition: int
    first_row: int
    rows: int
    inbox: Inbox
    url: str | None = None


def open_pieces(
    name: str,
    pieces: Sequence[Piece],
    schema: Any,
    access: Access,
    options: SourceOptions,
) -> Source:
    """Make a partition of each piece, in the order of the rows.

    Parameters
    ----------
    name : str
        What messages call the data.
    pieces : sequence of Piece
    schema : pyarrow.Schema
    access : Access
    options : SourceOptions

    Raises
    ------
    ColumnError
        If a column that the options name is not there, or cannot become numbers.
    """
    rows = sum(piece.rows for piece in pieces)
    types = {field.name: field.type for field in schema}
    columns, _ = settled_columns(
        [Part(url=name)], [Footer(rows=rows, types=types)], options
    )
    partitions = [
        TablePartition(
            name=_name(name, piece),
            rows=piece.rows,
            part=Part(url=name),
            reader=ReaderAt(_reader(piece, access), _part(name, piece)),
            columns=columns,
            options=options,
            first_row=NoRowNumber(),
        )
        for piece in pieces
    ]
    return Source(name, tuple(partitions))


def open_pieces_of_blocks(
    name: str,
    pieces: Sequence[Piece],
    access: Access,
    options: SourceOptions,
    *,
    minibatches: bool,
    keys: Keys | None = None,
) -> Source:
    """Make a partition of each piece of an RDD, whose rows are blocks.

    Parameters
    ----------
    name, pieces, access, options
        See `open_pieces`.
    minibatches : bool
        Whether each block is a minibatch as it is; else it is some of the examples.
    keys : {"values", "pickles"}, optional
        See :func:`daskdl_bridge.spark.block_source.open_blocks`.
    """
    partitions = [
        BlockPartition(
            _name(name, piece),
            _Blocks(_reader(piece, access), _part(name, piece)),
            options,
            keys,
        )
        for piece in pieces
    ]
    return Source(name, tuple(partitions), minibatches)


def _name(name: str, piece: Piece) -> str:
    stop = piece.first_row + piece.rows
    return f"{name}, partition {piece.partition} [{piece.first_row}:{stop}]"


def _part(name: str, piece: Piece) -> Part:
    return Part(url=piece.url or f"{name}, partition {piece.partition}")


def _reader(piece: Piece, access: Access) -> WholeReader:
    return _SpilledPiece() if piece.url else _HeldPiece(piece, access)


@dataclass(frozen=True)
class _Blocks(BlockReader):
    reader: WholeReader
    part: Part

    def rows(self, options: SourceOptions) -> Iterator[dict[str, Any]]:
        table = self.reader.read(self.part, ["keys", "arrays"], options)
        for number in range(table.num_rows):
            yield from table.slice(number, 1).to_pylist()


@dataclass(frozen=True)
class _HeldPiece(WholeReader):
    """Reads a piece in the memory of a worker: this one, or another one by Flight."""

    piece: Piece
    access: Access

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return the columns; see `WholeReader.read`.

        Raises
        ------
        WorkerLostError
            If the worker is gone, or holds the piece no longer.
        """
        piece = self.piece
        with naming_lost_inbox(piece.inbox):
            here = pieces_here(self.access.token, piece.inbox.uri)
            if here is not None:
                return table_of(here.buffer(piece.key)).select(columns)
            return table_of(self._fetched(columns))

    def _fetched(self, columns: list[str]) -> Any:
        from pyarrow import flight

        wanted = json.dumps({"key": self.piece.key, "columns": columns}).encode()
        with self.access.connect(self.piece.inbox.uri) as client:
            stream = client.do_get(flight.Ticket(wanted), self.access.options(_GET_S))
            return in_one_buffer(stream.schema, (chunk.data for chunk in stream))


@dataclass(frozen=True)
class _SpilledPiece(WholeReader):
    """Reads a piece that a worker wrote to a file."""

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return the columns; see `WholeReader.read`."""
        with (
            naming_damaged_file(part.url, "Arrow"),
            open_input(part.url, options.storage_options) as stream,
        ):
            return pa.ipc.open_stream(stream.read()).read_all().select(columns)
