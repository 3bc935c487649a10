"""Damage to files: bits that flip, pieces that move, numbers that lie, an early end."""

import itertools
import struct
from collections.abc import Callable, Sequence
from random import Random

__all__ = ["damaged"]

# Signs, sizes that no memory holds, handles.
_NUMBERS = (
    *(0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**24, 2**27, 2**31 - 1, 2**31),
    *(2**32 - 1, 2**40, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 0x7E0001),
)

# What texts are damaged with.
_TOKENS = (
    *(b"NaN", b"-Infinity", b"1e400", b"-1e-400", b"1E-9999999", b"0x1p9", b"1_0"),
    *(b"null", b"true", b"{}", b"[]", b"\\ud800", b"\\u0000", b'"', b"'", b"\\"),
    *(b"\0", b"\r", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80"),
    *(b"<!--", b"<![CDATA[", b"&#0;", b"&lt;", b"#", b"\xe2\x80\xa8", b" " * 99),
    *(b"9" * 5000, b"[" * 2000, b"," * 3000),
)

_MOST_CHANGES = 4
_LONGEST_PIECE = 64


def damaged(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return a copy with one to four changes.

    Parameters
    ----------
    data : bytes
        A whole file, or what stands in one.
    random : random.Random
    others : sequence of bytes
        What pieces are taken from, beside the data themselves.
    """
    copy = bytearray(data)
    for _ in range(random.randint(1, _MOST_CHANGES)):
        random.choice(_CHANGES)(copy, random, others)
    return bytes(copy)


def _piece(copy: bytearray, random: Random) -> slice:
    start = random.randint(0, len(copy))
    return slice(start, start + random.randint(0, random.choice((1, 8, 64))))


def _flip(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    if copy:
        copy[random.randrange(len(copy))] ^= 1 << random.randrange(8)


def _overwrite(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    copy[_piece(copy, random)] = random.randbytes(random.randint(0, 8))


def _cut(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    del copy[random.randint(0, len(copy)) :]


def _remove(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    del copy[_piece(copy, random)]


def _double(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    piece = bytes(copy[_piece(copy, random)]) * random.choice((1, 1, 2, 100))
    start = random.randint(0, len(copy))
    copy[start:start] = piece


def _swap(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    cuts = sorted(random.randint(0, len(copy)) for _ in range(4))
    first, between, second = (
        copy[start:stop] for start, stop in itertools.pairwise(cuts)
    )
    copy[cuts[0] : cuts[3]] = second + between + first


def _splice(copy: bytearray, random: Random, others: Sequence[bytes]) -> None:
    other = random.choice([*others, bytes(copy)])
    start = random.randint(0, len(other))
    stop = start + random.randint(0, _LONGEST_PIECE)
    copy[_piece(copy, random)] = other[start:stop]


def _lie(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    number = random.choice((*_NUMBERS, random.getrandbits(32)))
    start = random.randint(0, len(copy))
    stored = random.choice(_STORED)(number)
    copy[start : start + random.choice((0, 1, len(stored)))] = stored


def _write(copy: bytearray, random: Random, _: Sequence[bytes]) -> None:
    copy[_piece(copy, random)] = random.choice(_TOKENS)


def _packed(form: str) -> Callable[[int], bytes]:
    size = struct.calcsize(form)
    return lambda number: struct.pack(form, number % (1 << 8 * size))


def _varint(number: int) -> bytes:
    """Return seven bits a byte, as protocol buffers and Avro store numbers."""
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def _vint(number: int) -> bytes:
    """Return a byte that tells how many follow, as Hadoop stores numbers."""
    magnitude = number % (1 << 64)
    n_bytes = max(1, (magnitude.bit_length() + 7) // 8)
    return bytes([(-112 - n_bytes) % 256]) + magnitude.to_bytes(n_bytes, "big")


def _text(number: int) -> bytes:
    return b"%d" % number


_CHANGES = (_flip, _overwrite, _cut, _remove, _double, _swap, _splice, _lie, _write)
_STORED = (
    *(_packed(form) for form in ("B", ">H", "<I", ">I", "<Q", ">Q")),
    *(_varint, _vint, _text),
)
