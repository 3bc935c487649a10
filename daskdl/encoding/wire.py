"""Messages as bytes: the smallest coding that is worth its time, and a checksum.

In memory a message is DL4J's, an int32 an entry or two bits an element. Between workers
it is 32 bytes of header and a body, little-endian::

    0   4 bytes   b"dkdl"
    4   1 byte    version, 1
    5   1 byte    coder: 0 plain, 1 Rice
    6   1 byte    least gap of the Rice code, 0 or 1; 0 for a plain body
    7   1 byte    0
    8   16 bytes  the four header ints of the message: count, length of the vector,
                  bits of the threshold, kind
    24  4 bytes   entries or non-zero codes in a Rice body; ints in a plain one
    28  4 bytes   CRC-32 of all the rest, header before body
    32            body: the ints of the message after its header; or the words of
                  :mod:`daskdl.kernels.coding` and, behind them, k of each block

The rule: Rice where it saves at least 8 bits an entry. That is 8 ns of a worker's share
of 1 Gbit/s, about what packing and unpacking an entry take. Threshold messages are
practically always below, as a plain entry takes 32 bits and a coded one 13 at 1e-3;
bitmaps, where fewer than one in eight elements has a code.

See design note 0008 for the figures.
"""

import struct
import zlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.encoding.message import check_message
from daskdl.errors import DamagedMessageError, ShapeError, StaleMessageError
from daskdl.kernels.coding import (
    BLOCK,
    RicePlan,
    ascends,
    bitmap_codes,
    count_codes,
    rice_decode,
    rice_encode,
    rice_plan,
    write_bitmap,
)
from daskdl.kernels.threshold import BITMAP, HEADER_INTS

Packed: TypeAlias = NDArray[np.uint8]
Entries: TypeAlias = tuple[NDArray[np.int32], NDArray[np.uint8]]

_MAGIC = b"dkdl"
_VERSION = 1
_PLAIN = 0
_RICE = 1
_FRONT = struct.Struct("<4sBBBB4iI")
_CHECKSUM = struct.Struct("<I")
HEADER_BYTES = _FRONT.size + _CHECKSUM.size

# What an entry must save for its coding to be worth the time.
_SAVED_BITS = 8
# Of so many elements of a bitmap at most one may have a code, or it is not tried.
_BITMAP_ELEMENTS = 8
_SYMBOL_BITS = {False: 1, True: 2}


def pack(message: NDArray[np.int32]) -> Packed:
    """Return the bytes that stand for a message between workers.

    Parameters
    ----------
    message : ndarray of shape (length,), int32
        As of :class:`~daskdl.encoding.handler.EncodingHandler`. Entries may come in any
        order and repeatedly, as after merging.

    Returns
    -------
    packed : ndarray of shape (nbytes,), uint8
        Newly allocated. Where it is coded and entries did not ascend, they do
        afterwards; those of one position keep their order, so that adding them gives
        the same bits.

    Raises
    ------
    ShapeError, StaleMessageError
        When it is no message; see :func:`~daskdl.encoding.message.check_message`.
    """
    size = int(message[1]) if message.size > 1 else 0
    header = check_message(message, size, who="pack")
    coded = _pack_coded(message, is_bitmap=header.is_bitmap)
    return _pack_plain(message) if coded is None else coded


def unpack(packed: Packed, size: int | None = None) -> NDArray[np.int32]:
    """Undo :func:`pack`; refuse what is damaged.

    Parameters
    ----------
    packed : ndarray of shape (nbytes,), uint8
        Not changed, and not kept.
    size : int, optional
        Length of the vector that the message must be for. Memory is taken for it only
        if it is.

    Returns
    -------
    message : ndarray of shape (length,), int32
        Newly allocated.

    Raises
    ------
    ShapeError
        When `packed` is no 1-d uint8 array.
    DamagedMessageError
        When a bit is not what it was, or the bytes were never a message.
    StaleMessageError
        When it is of another version, or for a vector of another length.
    """
    if packed.ndim != 1 or packed.dtype != np.uint8:
        raise ShapeError(
            f"unpack: packed must be a 1-d uint8 array, "
            f"got {packed.ndim}-d {packed.dtype}."
        )
    coder, least_gap, first, count = _checked_header(packed, size)
    body = packed[HEADER_BYTES:]
    if coder == _PLAIN:
        message = np.empty(HEADER_INTS + body.size // 4, np.int32)
        message[HEADER_INTS:].view(np.uint8)[:] = body
    else:
        message = _decoded(body, first, count, least_gap)
    message[:HEADER_INTS] = first
    try:
        check_message(message, first[1], who="unpack")
    except StaleMessageError as error:
        raise DamagedMessageError(str(error)) from error
    return message


def opened(message: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a message as it is in memory, whether it was packed or not.

    Parameters
    ----------
    message : ndarray
        Packed, an int32 message or a dense float update.
    size : int
        Length of the vector.

    Raises
    ------
    DamagedMessageError, StaleMessageError
        As :func:`unpack`. Other arrays are returned as they came.
    """
    return unpack(message, size) if message.dtype == np.uint8 else message


def _pack_plain(message: NDArray[np.int32]) -> Packed:
    ints = message[HEADER_INTS:]
    packed = np.empty(HEADER_BYTES + ints.nbytes, np.uint8)
    packed[HEADER_BYTES:] = ints.view(np.uint8)
    return _sealed(packed, _PLAIN, 0, message, ints.size)


def _pack_coded(message: NDArray[np.int32], *, is_bitmap: bool) -> Packed | None:
    """Return the message in Rice coding, or None if that is not worth its time."""
    entries = _bitmap_entries(message) if is_bitmap else _threshold_entries(message)
    if entries is None:
        return None
    positions, symbols, plan = _planned(*entries, _SYMBOL_BITS[is_bitmap])
    n_coded = 8 * plan.n_words + plan.low_bits.size
    n_plain = 4 * (message.size - HEADER_INTS)
    if 8 * n_coded + _SAVED_BITS * positions.size > 8 * n_plain:
        return None
    n_bytes = HEADER_BYTES + n_coded
    # Made of words, so that the code is aligned.
    words = np.empty(-(-n_bytes // 8), np.uint64)
    first = HEADER_BYTES // 8
    code = words[first : first + plan.n_words]
    rice_encode(positions, symbols, _SYMBOL_BITS[is_bitmap], plan, code)
    packed = words.view(np.uint8)[:n_bytes]
    packed[HEADER_BYTES + code.nbytes :] = plan.low_bits
    return _sealed(packed, _RICE, plan.least_gap, message, positions.size)


def _threshold_entries(message: NDArray[np.int32]) -> Entries:
    entries = message[HEADER_INTS:]
    return np.abs(entries), (entries < 0).view(np.uint8)


def _bitmap_entries(message: NDArray[np.int32]) -> Entries | None:
    words = message[HEADER_INTS:].view(np.uint32)
    count = count_codes(words)
    if _BITMAP_ELEMENTS * count > message[1]:
        return None
    positions, codes = bitmap_codes(words, count)
    if count and positions[-1] > message[1]:
        # Codes behind the end mean nothing, and have no position.
        return None
    return positions, codes


def _planned(
    positions: NDArray[np.int32], symbols: NDArray[np.uint8], symbol_bits: int
) -> tuple[NDArray[np.int32], NDArray[np.uint8], RicePlan]:
    """Return the entries in ascending order, and how to code them."""
    if not ascends(positions):
        order = np.argsort(positions, kind="stable")
        positions, symbols = positions[order], symbols[order]
    return positions, symbols, rice_plan(positions, symbol_bits)


def _sealed(
    packed: Packed, coder: int, least_gap: int, message: NDArray[np.int32], count: int
) -> Packed:
    """Write the header in front of a body, and return both."""
    first = message[:HEADER_INTS].tolist()
    buffer = packed.data
    _FRONT.pack_into(buffer, 0, _MAGIC, _VERSION, coder, least_gap, 0, *first, count)
    _CHECKSUM.pack_into(buffer, _FRONT.size, _checksum(packed))
    return packed


def _checked_header(
    packed: Packed, size: int | None
) -> tuple[int, int, list[int], int]:
    """Return coder, least gap, the ints of the message's header, and the count."""
    if packed.size < HEADER_BYTES:
        raise _damage(f"at least {HEADER_BYTES} bytes", f"{packed.size}")
    magic, version, coder, least_gap, _, *first, count = _FRONT.unpack_from(packed.data)
    if magic != _MAGIC:
        raise _damage(f"{_MAGIC!r} in front", f"{magic!r}")
    if version != _VERSION:
        raise StaleMessageError(
            f"unpack: a message must be of version {_VERSION}, got version {version}. "
            f"Run the same daskdl on all workers."
        )
    (expected,) = _CHECKSUM.unpack_from(packed.data, _FRONT.size)
    if _checksum(packed) != expected:
        raise _damage(f"checksum {expected:08x}", f"{_checksum(packed):08x}")
    if size is not None and first[1] != size:
        raise StaleMessageError(
            f"unpack: a message must hold an update of {size} parameters, got one of "
            f"{first[1]}. Drop the message."
        )
    _check_coder(packed.size - HEADER_BYTES, coder, least_gap, first[1], count)
    return coder, least_gap, first, count


def _check_coder(
    n_bytes: int, coder: int, least_gap: int, size: int, count: int
) -> None:
    """Refuse what a message whose checksum is right can still have wrong."""
    if coder not in (_PLAIN, _RICE) or least_gap not in (0, 1) or size < 0:
        raise _damage("a known coder", f"coder {coder}, {least_gap} and {size}")
    if coder == _PLAIN and n_bytes != 4 * count:
        raise _damage(f"{count} ints, as its header says", f"{n_bytes} bytes")
    n_blocks = -(-count // BLOCK)
    # Each entry takes a bit at least.
    if coder == _RICE and ((n_bytes - n_blocks) % 8 or count > 8 * n_bytes):
        raise _damage(f"the code of {count} entries", f"{n_bytes} bytes")


def _decoded(
    body: Packed, first: list[int], count: int, least_gap: int
) -> NDArray[np.int32]:
    """Return a message, its header yet to be written, from a body in Rice coding."""
    n_blocks = -(-count // BLOCK)
    # Copied: a body that came over the wire is aligned anyhow.
    words = np.empty((body.size - n_blocks) // 8, np.uint64)
    words.view(np.uint8)[:] = body[: words.nbytes]
    plan = RicePlan(least_gap, body[words.nbytes :].copy(), words.size)
    positions, symbols = np.empty(count, np.int32), np.empty(count, np.uint8)
    _, size, _, kind = first
    is_bitmap = kind == BITMAP
    bits = _SYMBOL_BITS[is_bitmap]
    if not rice_decode(words, plan, bits, size, positions, symbols):
        raise _damage(f"the code of {count} positions up to {size}", "another one")
    if not is_bitmap:
        return _threshold_message(positions, symbols)
    if not symbols.all():
        raise _damage("codes that are not zero", "one that is")
    message = np.empty(HEADER_INTS + size // 16 + 1, np.int32)
    write_bitmap(positions, symbols, message[HEADER_INTS:].view(np.uint32))
    return message


def _threshold_message(
    positions: NDArray[np.int32], is_negative: NDArray[np.uint8]
) -> NDArray[np.int32]:
    message = np.empty(HEADER_INTS + positions.size, np.int32)
    signs = np.int8(1) - np.int8(2) * is_negative.view(np.int8)
    np.multiply(positions, signs, out=message[HEADER_INTS:])
    return message


def _checksum(packed: Packed) -> int:
    return zlib.crc32(
        packed[HEADER_BYTES:].data, zlib.crc32(packed[: _FRONT.size].data)
    )


def _damage(must: str, came: str) -> DamagedMessageError:
    return DamagedMessageError(
        f"unpack: a message must hold {must}, got {came}. It was damaged on its way."
    )
