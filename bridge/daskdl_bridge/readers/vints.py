"""Hadoop's integers of variable length: small numbers take a byte, none takes nine.

The first byte is the number itself from -112 on. Below it tells how many bytes follow,
big-endian: -113 to -120 one to eight of a positive number, -121 to -128 one to eight of
the complement of a negative one.
"""

from daskdl.dl4j.java.counted_stream import CountedStream

__all__ = ["encode_vint", "take_vint", "vint_at"]

_LEAST_PLAIN, _LEAST_POSITIVE = -112, -120


def vint_at(data: bytes, start: int) -> tuple[int, int]:
    """Return the number that begins at an offset, and the offset behind it.

    Raises
    ------
    ValueError
        If the bytes end before.
    """
    if start >= len(data):
        raise ValueError("an integer of variable length is missing at the end")
    first = _signed(data[start])
    end = start + 1 + _n_following(first)
    if end > len(data):
        raise ValueError("an integer of variable length is cut short")
    return _number(first, data[start + 1 : end]), end


def take_vint(counted: CountedStream) -> int:
    """Read a number from a stream.

    Raises
    ------
    CorruptFileError
        If the stream ends before.
    """
    first = _signed(counted.take(1)[0])
    n_bytes = _n_following(first)
    return _number(first, counted.take(n_bytes) if n_bytes else b"")


def encode_vint(number: int) -> bytes:
    """Return the bytes of a number of at most 64 bits."""
    if _LEAST_PLAIN <= number <= 127:
        return number.to_bytes(1, "big", signed=True)
    base, stored = (_LEAST_PLAIN, number) if number >= 0 else (_LEAST_POSITIVE, ~number)
    n_bytes = (stored.bit_length() + 7) // 8
    first = (base - n_bytes).to_bytes(1, "big", signed=True)
    return first + stored.to_bytes(n_bytes, "big")


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _n_following(first: int) -> int:
    if first >= _LEAST_PLAIN:
        return 0
    return (_LEAST_PLAIN if first >= _LEAST_POSITIVE else _LEAST_POSITIVE) - first


def _number(first: int, following: bytes) -> int:
    if first >= _LEAST_PLAIN:
        return first
    number = int.from_bytes(following, "big")
    return number if first >= _LEAST_POSITIVE else ~number
