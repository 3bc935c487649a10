"""The checksum CRC-32C (Castagnoli), by tables of NumPy.

The checksum is linear: each byte adds what depends on it and on the number of bytes
behind it, so that those of a stretch are looked up at once.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["crc32c", "masked_crc32c"]

_POLYNOMIAL = 0x82F63B78
_ONES = 0xFFFFFFFF
# The table takes 1 MiB, which processors hold near.
_STRETCH_BYTES = 1 << 10
_STATE_BYTES = 4
# Fewer are sooner done without NumPy.
_FEW_BYTES = 16
_MASK_DELTA = 0xA282EAD8


def crc32c(data: bytes) -> int:
    """Return the checksum of some bytes."""
    if len(data) <= _FEW_BYTES:
        return _of_few(data)
    table = _table()
    values = np.frombuffer(data, np.uint8)
    state = _ONES
    for start in range(0, len(values), _STRETCH_BYTES):
        stretch = values[start : start + _STRETCH_BYTES].copy()
        # The state stands for what was before the stretch, and is added to its front.
        ahead = np.frombuffer(state.to_bytes(_STATE_BYTES, "little"), np.uint8)
        n_bytes = min(_STATE_BYTES, len(stretch))
        stretch[:n_bytes] ^= ahead[:n_bytes]
        behind = np.arange(len(stretch) - 1, -1, -1)
        state >>= 8 * n_bytes
        state ^= int(np.bitwise_xor.reduce(table[behind, stretch]))
    return state ^ _ONES


def masked_crc32c(data: bytes) -> int:
    """Return the checksum as TensorFlow stores it beside the data."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & _ONES


def _of_few(data: bytes) -> int:
    table, state = _table_of_one(), _ONES
    for byte in data:
        state = (state >> 8) ^ table[(state ^ byte) & 255]
    return state ^ _ONES


@cache
def _table_of_one() -> list[int]:
    return [int(value) for value in _table()[0]]


@cache
def _table() -> NDArray[np.uint32]:
    """Return what each byte adds, shape (bytes behind it, 256)."""
    table = np.empty((_STRETCH_BYTES, 256), np.uint32)
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = (first >> 1) ^ (first & 1) * np.uint32(_POLYNOMIAL)
    table[0] = first
    for behind in range(1, _STRETCH_BYTES):
        before = table[behind - 1]
        table[behind] = (before >> 8) ^ first[before & 255]
    return table
