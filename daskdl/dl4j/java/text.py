"""Java's modified UTF-8: NUL takes two bytes, and each half of a surrogate pair three.

References
----------
``java.io.DataInput`` of Java SE 17, "Modified UTF-8".
"""

import struct

__all__ = ["decode_modified_utf8", "encode_modified_utf8"]

_NUL = b"\xc0\x80"


def decode_modified_utf8(raw: bytes) -> str:
    """Return the text.

    Raises
    ------
    UnicodeDecodeError
        If the bytes are no such text.
    """
    halves = raw.replace(_NUL, b"\0").decode("utf-8", "surrogatepass")
    if halves.isascii():
        return halves
    units = halves.encode("utf-16-be", "surrogatepass")
    return units.decode("utf-16-be", "surrogatepass")


def encode_modified_utf8(text: str) -> bytes:
    """Return the bytes of the text."""
    if text.isascii():
        return text.encode("ascii").replace(b"\0", _NUL)
    units = text.encode("utf-16-be", "surrogatepass")
    halves = "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units)))
    return halves.encode("utf-8", "surrogatepass").replace(b"\0", _NUL)
