"""Several parcels in one write.

Small parts travel together in one blob, which is most of the speed at 4 KB: each
separate buffer costs a header and a read. Large parts travel as they are, without a
copy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed.protocol import to_serialize

from daskdl.cluster.bus.payload import Buffer, Parcel, Payload

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
