"""Messages as bytes: the smallest coding that is worth its time, and a checksum.

In memory a message is DL4J's, an int32 an entry or two bits an element. Between workers
it is an :mod:`~daskdl.encoding.envelope` and a body: the ints of the message after its
header; or the words of :mod:`daskdl.kernels.coding` and, behind them, k of each block.

The rule: Rice where it saves at least 8 bits an entry. That is 8 ns of a worker's share
of 1 Gbit/s, about what packing and unpacking an entry take. Threshold messages are
practically always below, as a plain entry takes 32 bits and a coded one 13 at 1e-3;
bitmaps, where fewer than one in eight elements has a code. Through memory of one host
8 bits take a tenth of a nanosecond: there ints go as they are.

See design note 0008 for the figures.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.encoding.envelope import (
    HEADER_BYTES,
    PLAIN,
    RICE,
    Envelope,
    Packed,
    checked_envelope,
    damage,
    with_envelope,
)
from daskdl.encoding.message import check_message
from daskdl.errors import DamagedMessageError, ShapeError, StaleMessageError
from daskdl.kernels.coding import (
    BLOCK,
    RicePlan,
    bitmap_codes,
    count_codes,
    join_entries,
    rice_decode,
    rice_encode,
    rice_plan,
    split_entries,
    write_bitmap,
)
from daskdl.kernels.threshold import BITMAP, HEADER_INTS

Entries: TypeAlias = tuple[NDArray[np.int32], NDArray[np.uint8]]

# What an entry must save for its coding to be worth the time.
_SAVED_BITS = 8
# Of so many elements of a bitmap at most one may have a code, or it is not tried.
_BITMAP_ELEMENTS = 8
_SYMBOL_BITS = {False: 1, True: 2}


def pack(message: NDArray[np.int32], *, is_near: bool = False) -> Packed:
    """Return the bytes that stand for a message between workers.

    Parameters
    ----------
    message : ndarray of shape (length,), int32
        As of :class:`~daskdl.encoding.handler.EncodingHandler`. Entries may come in any
        order and repeatedly, as after merging.
    is_near : bool
        Whether it goes through memory, where no coding is worth its time.

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
    coded = None if is_near else _pack_coded(message, is_bitmap=header.is_bitmap)
    return _pack_plain(message) if coded is None else coded


def unpack(packed: Packed, size: int | None = None) -> NDArray[np.int32]:
    """Undo :func:`pack`; refuse damaged messages.

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
    envelope = checked_envelope(packed, size)
    body, first = packed[HEADER_BYTES:], envelope.first
    if envelope.coder == PLAIN:
        message = np.empty(HEADER_INTS + body.size // 4, np.int32)
        message[HEADER_INTS:].view(np.uint8)[:] = body
    else:
        message = _decoded(body, envelope)
    message[:HEADER_INTS] = first
    try:
        check_message(message, first[1], who="unpack")
    except StaleMessageError as error:
        raise DamagedMessageError(str(error)) from error
    return message


def unpacked(message: NDArray[Any], size: int) -> NDArray[Any]:
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
    return with_envelope(packed, Envelope(PLAIN, 0, _header(message), ints.size))


def _pack_coded(message: NDArray[np.int32], *, is_bitmap: bool) -> Packed | None:
    """Return the message in Rice coding, or None if that is not worth its time."""
    body = message[HEADER_INTS:]
    entries = _bitmap_entries(message) if is_bitmap else split_entries(body)
    if entries is None:
        return None
    positions, symbols, plan = _planned(*entries, _SYMBOL_BITS[is_bitmap])
    n_coded = 8 * plan.n_words + plan.low_bits.size
    n_plain = 4 * body.size
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
    envelope = Envelope(RICE, plan.least_gap, _header(message), positions.size)
    return with_envelope(packed, envelope)


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
    plan = rice_plan(positions, symbol_bits)
    if plan is not None:
        return positions, symbols, plan
    order = np.argsort(positions, kind="stable")
    return _planned(positions[order], symbols[order], symbol_bits)


def _header(message: NDArray[np.int32]) -> list[int]:
    ints: list[int] = message[:HEADER_INTS].tolist()
    return ints


def _decoded(body: Packed, envelope: Envelope) -> NDArray[np.int32]:
    """Return a message, its header yet to be written, from a body in Rice coding."""
    _, least_gap, (_, size, _, kind), count = envelope
    n_blocks = -(-count // BLOCK)
    # Copied: a body that came over the wire is aligned anyhow.
    words = np.empty((body.size - n_blocks) // 8, np.uint64)
    words.view(np.uint8)[:] = body[: words.nbytes]
    plan = RicePlan(least_gap, body[words.nbytes :].copy(), words.size)
    positions, symbols = np.empty(count, np.int32), np.empty(count, np.uint8)
    is_bitmap = kind == BITMAP
    bits = _SYMBOL_BITS[is_bitmap]
    if not rice_decode(words, plan, bits, size, positions, symbols):
        raise damage(f"the code of {count} positions up to {size}", "another one")
    if not is_bitmap:
        return _threshold_message(positions, symbols)
    if not symbols.all():
        raise damage("codes that are not zero", "one that is")
    message = np.empty(HEADER_INTS + size // 16 + 1, np.int32)
    write_bitmap(positions, symbols, message[HEADER_INTS:].view(np.uint32))
    return message


def _threshold_message(
    positions: NDArray[np.int32], is_negative: NDArray[np.uint8]
) -> NDArray[np.int32]:
    message = np.empty(HEADER_INTS + positions.size, np.int32)
    join_entries(positions, is_negative, message[HEADER_INTS:])
    return message
