"""Pieces of a DataFrame that a worker holds: in memory, and beyond a limit in files.

A piece is an Arrow stream in one buffer: what comes by Flight lies in memory at any
address, and kernels need numbers at whole ones.
"""

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from daskdl.data.files import write_output
from daskdl.data.store import remove
from daskdl_bridge.storage import filesystem, join_url

__all__ = ["HeldPiece", "HeldPieces", "Spill", "in_one_buffer", "table_of"]


def in_one_buffer(schema: Any, batches: Iterable[Any]) -> Any:
    """Return record batches as an Arrow stream in one pyarrow.Buffer."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def table_of(buffer: Any) -> Any:
    """Return the pyarrow.Table of an Arrow stream in memory; a view."""
    return pa.ipc.open_stream(buffer).read_all()


@dataclass(frozen=True)
class Spill:
    """Where pieces go that memory has no room for.

    Attributes
    ----------
    url : str
        A directory of the session's own, which all workers see.
    storage_options : dict
        How they reach the store.
    """

    url: str
    storage_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HeldPiece:
    """What an inbox says of a piece.

    Attributes
    ----------
    rows : int
    url : str or None
        The file that it is in; None in memory.
    """

    rows: int
    url: str | None = None


class HeldPieces:
    """Pieces by key, from any thread.

    Parameters
    ----------
    memory_limit : int
        Bytes of all pieces in memory, and of those that are on their way there.
    spill : Spill or None
        None: what is beyond is refused.

    Attributes
    ----------
    one_at_a_time : threading.Lock
        Held while a piece is received that goes to a file, so that those wait with
        their senders and not here.
    """

    def __init__(self, memory_limit: int, spill: Spill | None = None) -> None:
        self.one_at_a_time = threading.Lock()
        self._limit = memory_limit
        self._spill = spill
        self._lock = threading.Lock()
        self._taken_bytes = 0
        self._reserved: dict[str, int] = {}
        self._buffers: dict[str, Any] = {}
        self._held: dict[str, HeldPiece] = {}
        self._schema: Any = None
        # Then no task that is late, as one of two that ran at once, is listened to.
        self._is_settled = False

    @property
    def takes_more(self) -> bool:
        """Whether it is open which pieces count."""
        return not self._is_settled

    @property
    def spills(self) -> bool:
        """Whether there is a place for what memory has no room for."""
        return self._spill is not None

    def reserve(self, key: str, n_bytes: int) -> bool:
        """Take memory for a piece, if there is so much."""
        with self._lock:
            fits = self._taken_bytes + n_bytes <= self._limit
            if fits:
                self._reserved[key] = self._reserved.get(key, 0) + n_bytes
                self._taken_bytes += n_bytes
        return fits

    def release(self, key: str) -> None:
        """Give back the memory of a piece, and the piece; harmless if it is gone."""
        with self._lock:
            self._taken_bytes -= self._reserved.pop(key, 0)
            self._buffers.pop(key, None)
            self._held.pop(key, None)

    def keep(self, key: str, buffer: Any, piece: HeldPiece) -> None:
        """Keep a piece whose memory is reserved."""
        with self._lock:
            self._buffers[key] = buffer
            counts = self._note(key, buffer, piece)
        if not counts:
            self._drop(key, piece)

    def write(self, key: str, buffer: Any, rows: int) -> None:
        """Write a piece to a file.

        Raises
        ------
        OutputError
            If the store does not take it.
        """
        if self._spill is None:
            raise LookupError(f"direct: {key} must fit into memory, it does not.")
        url = join_url(self._spill.url, f"piece-{key.replace('/', '-')}.arrows")
        write_output(
            url,
            lambda stream: stream.write(memoryview(buffer)),
            overwrite=True,
            storage_options=self._spill.storage_options,
        )
        piece = HeldPiece(rows, url)
        with self._lock:
            counts = self._note(key, buffer, piece)
        if not counts:
            self._drop(key, piece)

    def keep_only(self, keys: Collection[str]) -> tuple[bytes, Mapping[str, HeldPiece]]:
        """Drop what failed or needless attempts of tasks sent, and take no more.

        Returns
        -------
        bytes, mapping of str to HeldPiece
            The Arrow schema, empty if nothing ever came; and what is held.
        """
        with self._lock:
            self._is_settled = True
            needless = {key: self._held[key] for key in self._held.keys() - set(keys)}
        for key, piece in needless.items():
            self._drop(key, piece)
        schema = b"" if self._schema is None else self._schema.serialize().to_pybytes()
        return schema, dict(self._held)

    def buffer(self, key: str) -> Any:
        """Return the Arrow stream of a piece in memory.

        Raises
        ------
        LookupError
            If it is not there.
        """
        with self._lock:
            return self._buffers[key]

    def clear(self) -> None:
        """Free all memory. Files are the session's to remove."""
        with self._lock:
            for pieces in (self._reserved, self._buffers, self._held):
                pieces.clear()
            self._taken_bytes = 0

    def _note(self, key: str, buffer: Any, piece: HeldPiece) -> bool:
        if self._is_settled:
            return False
        self._held[key] = piece
        if self._schema is None:
            self._schema = pa.ipc.open_stream(buffer).schema
        return True

    def _drop(self, key: str, piece: HeldPiece) -> None:
        self.release(key)
        if piece.url is not None and self._spill is not None:
            remove(*filesystem(piece.url, self._spill.storage_options))
