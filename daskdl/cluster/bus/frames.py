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
from daskdl.cluster.host_memory import arrays_at, put_arrays, unlink_memory
from daskdl.errors import DataError

# Below this a copy into the blob is cheaper than a buffer of its own.
LARGE_BYTES = 64 * 2**10

NumberedParcel = tuple[int, Parcel]


def pack(batch: Sequence[NumberedParcel], *, in_memory: bool = False) -> dict[str, Any]:
    """Pack parcels into one message for a Dask connection.

    Parameters
    ----------
    batch : sequence of (int, Parcel)
    in_memory : bool
        Whether large parts are left in memory of this machine, if there is any: its
        path is in the frame then, as ``memory``. Whoever unpacks the frame unlinks it.
    """
    index: list[tuple[int, int, int, list[int]]] = []
    small: list[Any] = []
    large: list[Any] = []
    for number, parcel in batch:
        parts = parts_of(parcel)
        for part in parts:
            (small if part.nbytes < LARGE_BYTES else large).append(part)
        sizes = [part.nbytes for part in parts]
        index.append((number, parcel.first, parcel.last, sizes))
    frame: dict[str, Any] = {"index": index, "small": b"".join(small)}
    put = put_arrays(large) if in_memory else None
    if put is None:
        return {**frame, "large": [to_serialize(part) for part in large]}
    path, starts = put
    return {**frame, "memory": path, "starts": starts}


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
        large = iter(_parts_in_memory(frame))
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


def _parts_in_memory(frame: dict[str, Any]) -> list[Buffer]:
    """Return the large parts of a frame: the memory is the receiver's alone by now."""
    path: str = frame["memory"]
    sizes = [n for *_, sizes in frame["index"] for n in sizes if n >= LARGE_BYTES]
    parts = arrays_at(path, frame["starts"], sizes)
    unlink_memory(path)
    if parts is None:
        raise DataError(f"Bus: shared memory must be at {path}, it is not.")
    return parts


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
