"""Several parcels in one write.

Small parts travel together in one blob, which is most of the speed at 4 KB: each
separate buffer costs a header and a read. Large parts travel as they are, without a
copy.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from distributed.protocol import to_serialize

from daskdl.cluster.bus.payload import Buffer, Parcel, Payload
from daskdl.cluster.host_memory import create_memory, open_memory, unlink_memory
from daskdl.errors import DataError

# Where arrays begin in memory, as compilers like it.
_ALIGNED_BYTES = 64
# Below this a copy into the blob is cheaper than a buffer of its own.
LARGE_BYTES = 64 * 2**10

NumberedParcel = tuple[int, Parcel]


def pack(batch: Sequence[NumberedParcel]) -> dict[str, Any]:
    """Pack parcels into one message for a Dask connection."""
    index: list[tuple[int, int, int, list[int]]] = []
    small: list[Any] = []
    large: list[Any] = []
    for number, parcel in batch:
        parts = parts_of(parcel)
        for part in parts:
            if part.nbytes < LARGE_BYTES:
                small.append(part)
            else:
                large.append(to_serialize(part))
        sizes = [part.nbytes for part in parts]
        index.append((number, parcel.first, parcel.last, sizes))
    return {"index": index, "small": b"".join(small), "large": large}


def pack_in_memory(
    batch: Sequence[NumberedParcel],
) -> tuple[dict[str, Any], str] | None:
    """Pack parcels for a process of this machine: large parts lie in memory of both.

    Returns
    -------
    frame : dict
        As of :func:`pack`.
    path : str
        Of the memory. To be unlinked when the other end has it; that does so itself.
    """
    frame = pack(batch)
    parts = [part for _, parcel in batch for part in parts_of(parcel)]
    parts = [part for part in parts if part.nbytes >= LARGE_BYTES]
    starts, end = [], 0
    for part in parts:
        starts.append(end)
        end += -(-part.nbytes // _ALIGNED_BYTES) * _ALIGNED_BYTES
    created = create_memory(end) if parts else None
    if created is None:
        return None
    memory, path = created
    into = np.frombuffer(memory, np.uint8)
    for start, part in zip(starts, parts, strict=True):
        into[start : start + part.nbytes] = part
    return {**frame, "large": [], "memory": path, "starts": starts}, path


def unpack(frame: dict[str, Any], *, copy: bool) -> list[NumberedParcel]:
    """Return the parcels of :func:`pack`.

    Parameters
    ----------
    frame : dict
        What came out of the connection.
    copy : bool
        Copy large parts. Needed on ``inproc://``, which hands over the very array that
        the publisher and all other subscribers hold.
    """
    if "memory" in frame:
        large = _parts_in_memory(frame)
    else:
        large = iter([_owned(part, copy=copy) for part in frame["large"]])
    small = _Blob(frame["small"])
    batch: list[NumberedParcel] = []
    for number, first, last, sizes in frame["index"]:
        parts = [next(large) if n >= LARGE_BYTES else small.take(n) for n in sizes]
        batch.append((number, Parcel(first, last, payload_of(parts))))
    return batch


def parts_of(parcel: Parcel) -> list[Buffer]:
    """Return the pickle and the buffers of a parcel; none of the last word."""
    if parcel.payload is None:
        return []
    head = np.frombuffer(parcel.payload.head, dtype=np.uint8)
    return [head, *parcel.payload.buffers]


def payload_of(parts: list[Buffer]) -> Payload | None:
    """Return the payload that :func:`parts_of` took apart."""
    if not parts:
        return None
    return Payload(parts[0].tobytes(), tuple(parts[1:]))


def _parts_in_memory(frame: dict[str, Any]) -> Iterator[Buffer]:
    """Yield the large parts of a frame: the memory is the receiver's alone by now."""
    path: str = frame["memory"]
    memory = open_memory(path)
    unlink_memory(path)
    if memory is None:
        raise DataError(f"Bus: shared memory must be at {path}, it is not.")
    whole: Buffer = np.frombuffer(memory, np.uint8)
    sizes = [n for *_, sizes in frame["index"] for n in sizes if n >= LARGE_BYTES]
    for start, nbytes in zip(frame["starts"], sizes, strict=True):
        yield whole[start : start + nbytes]


def _owned(part: Buffer, *, copy: bool) -> Buffer:
    # A decompressed frame arrives read-only; the receiver may write to its arrays.
    return part.copy() if copy or not part.flags.writeable else part


class _Blob:
    """Cuts the small parts off one after the other, each into memory of its own."""

    def __init__(self, blob: bytes) -> None:
        self._all: Buffer = np.frombuffer(blob, dtype=np.uint8)
        self._at = 0

    def take(self, nbytes: int) -> Buffer:
        start, self._at = self._at, self._at + nbytes
        piece: Buffer = self._all[start : self._at].copy()
        return piece
