"""The envelope of a message between workers: 32 bytes, little-endian.

::

    0   4 bytes   b"dkdl"
    4   1 byte    version, 1
    5   1 byte    coder: 0 plain, 1 Rice
    6   1 byte    least gap of the Rice code, 0 or 1; 0 for a plain body
    7   1 byte    0
    8   16 bytes  the four header ints of the message: count, length of the vector,
                  bits of the threshold, kind
    24  4 bytes   entries or non-zero codes in a Rice body; ints in a plain one
    28  4 bytes   CRC-32 of all the rest, header before body
"""

import struct
import zlib
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import DamagedMessageError, StaleMessageError
from daskdl.kernels.coding import BLOCK

Packed: TypeAlias = NDArray[np.uint8]

PLAIN = 0
RICE = 1

_MAGIC = b"dkdl"
_VERSION = 1
_FRONT = struct.Struct("<4sBBBB4iI")
_CHECKSUM = struct.Struct("<I")
HEADER_BYTES = _FRONT.size + _CHECKSUM.size


class Envelope(NamedTuple):
    """The fields in front of a message's body.

    Parameters
    ----------
    coder : int
        :data:`PLAIN` or :data:`RICE`.
    least_gap : int
        Of the Rice code.
    first : list of int
        The ints of the message's own header.
    n_entries : int
        Entries or codes in a Rice body, ints in a plain one.
    """

    coder: int
    least_gap: int
    first: list[int]
    n_entries: int


def with_envelope(packed: Packed, envelope: Envelope) -> Packed:
    """Write an envelope in front of a body, and return both.

    Parameters
    ----------
    packed : ndarray of shape (nbytes,), uint8
        The body, behind :data:`HEADER_BYTES` that are overwritten.
    envelope : Envelope
        What to write.
    """
    coder, least_gap, first, count = envelope
    buffer = packed.data
    _FRONT.pack_into(buffer, 0, _MAGIC, _VERSION, coder, least_gap, 0, *first, count)
    _CHECKSUM.pack_into(buffer, _FRONT.size, _checksum(packed))
    return packed


def checked_envelope(packed: Packed, size: int | None) -> Envelope:
    """Return the fields of an envelope, or refuse a damaged one.

    Parameters
    ----------
    packed : ndarray of shape (nbytes,), uint8
        All of a message.
    size : int, optional
        Length of the vector that the message must be for.

    Raises
    ------
    DamagedMessageError
        When a bit is not what it was, or the bytes were never a message.
    StaleMessageError
        When it is of another version, or for a vector of another length.
    """
    if packed.size < HEADER_BYTES:
        raise damage(f"at least {HEADER_BYTES} bytes", f"{packed.size}")
    magic, version, coder, least_gap, _, *first, count = _FRONT.unpack_from(packed.data)
    if magic != _MAGIC:
        raise damage(f"{_MAGIC!r} in front", f"{magic!r}")
    if version != _VERSION:
        raise StaleMessageError(
            f"unpack: a message must be of version {_VERSION}, got version {version}. "
            f"Run the same daskdl on all workers."
        )
    (expected,) = _CHECKSUM.unpack_from(packed.data, _FRONT.size)
    if _checksum(packed) != expected:
        raise damage(f"checksum {expected:08x}", f"{_checksum(packed):08x}")
    if size is not None and first[1] != size:
        raise StaleMessageError(
            f"unpack: a message must hold an update of {size} parameters, got one of "
            f"{first[1]}. Drop the message."
        )
    envelope = Envelope(coder, least_gap, first, count)
    _check(envelope, packed.size - HEADER_BYTES)
    return envelope


def damage(must: str, came: str) -> DamagedMessageError:
    """Return the error of a damaged message."""
    return DamagedMessageError(
        f"unpack: a message must hold {must}, got {came}. It was damaged on its way."
    )


def _check(envelope: Envelope, n_bytes: int) -> None:
    """Refuse errors in a message whose checksum is right."""
    coder, least_gap, (_, size, *_), count = envelope
    if coder not in (PLAIN, RICE) or least_gap not in (0, 1) or size < 0:
        raise damage("a known coder", f"coder {coder}, {least_gap} and {size}")
    if coder == PLAIN and n_bytes != 4 * count:
        raise damage(f"{count} ints, as its header says", f"{n_bytes} bytes")
    n_blocks = -(-count // BLOCK)
    # Each entry takes a bit at least.
    if coder == RICE and ((n_bytes - n_blocks) % 8 or count > 8 * n_bytes):
        raise damage(f"the code of {count} entries", f"{n_bytes} bytes")


def _checksum(packed: Packed) -> int:
    return zlib.crc32(
        packed[HEADER_BYTES:].data, zlib.crc32(packed[: _FRONT.size].data)
    )
