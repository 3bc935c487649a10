"""Writes plain data as Java would serialise the objects they describe.

References
----------
Java Object Serialization Specification, version 6.0, section 6.4 (the grammar).
"""

import struct
from typing import Any, BinaryIO

from daskdl.dl4j.java.objects import (
    JavaArray,
    JavaClass,
    JavaClassConstant,
    JavaEnum,
    JavaField,
    JavaLevel,
    JavaObject,
    JavaValue,
    Tag,
)
from daskdl.dl4j.java.reader import NUMBERS, STREAM_HEAD
from daskdl.dl4j.java.text import encode_modified_utf8
from daskdl.errors import DataError

__all__ = ["write_java"]

_FIRST_HANDLE = 0x7E0000
_SHORT_TEXT_BYTES = 0xFFFF
_SHORT_BLOCK_BYTES = 0xFF


def write_java(stream: BinaryIO, value: JavaValue) -> None:
    """Write one object as an ``ObjectOutputStream`` of its own would.

    Parameters
    ----------
    stream : binary stream
    value : None, str, or what :func:`daskdl.dl4j.java.reader.read_java` returns

    Raises
    ------
    DataError
        If a value inside is of another kind.
    """
    writer = _Writer(stream)
    stream.write(STREAM_HEAD)
    writer.value(value)


class _Writer:
    """Writes a stream; objects that come again are referred to by number."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        # Objects count by identity, text by content; kept so that no id is reused.
        self._handles: dict[int | str, int] = {}
        self._kept: list[Any] = []

    def value(self, value: JavaValue) -> None:
        if value is None:
            self._number(">B", Tag.NULL)
        elif isinstance(value, bytes):
            self._block(value)
        elif self._key(value) in self._handles:
            self._number(">B", Tag.REFERENCE)
            self._number(">i", self._handles[self._key(value)])
        elif isinstance(value, str):
            self._string(value)
        else:
            self._described(value)

    def _described(self, value: JavaValue) -> None:
        if isinstance(value, JavaObject):
            self._object(value)
        elif isinstance(value, JavaClass):
            self._class(value)
        elif isinstance(value, JavaArray):
            self._array(value)
        elif isinstance(value, JavaClassConstant):
            self._tagged(Tag.CLASS_CONSTANT, value)
        elif isinstance(value, JavaEnum):
            self._tagged(Tag.ENUM, value)
            self.value(value.constant)
        else:
            raise DataError(
                "write_java: what is written for Java must be text, None or what was "
                f"read from Java, got {type(value).__name__}."
            )

    def _key(self, value: JavaValue) -> int | str:
        return value if isinstance(value, str) else id(value)

    def _remember(self, value: JavaValue) -> None:
        self._handles[self._key(value)] = _FIRST_HANDLE + len(self._kept)
        self._kept.append(value)

    def _number(self, form: str, value: Any) -> None:
        self._stream.write(struct.pack(form, value))

    def _text(self, value: str) -> None:
        raw = encode_modified_utf8(value)
        self._number(">H", len(raw))
        self._stream.write(raw)

    def _string(self, value: str) -> None:
        raw = encode_modified_utf8(value)
        is_short = len(raw) <= _SHORT_TEXT_BYTES
        self._number(">B", Tag.STRING if is_short else Tag.LONG_STRING)
        self._remember(value)
        self._number(">H" if is_short else ">q", len(raw))
        self._stream.write(raw)

    def _block(self, value: bytes) -> None:
        is_short = len(value) <= _SHORT_BLOCK_BYTES
        self._number(">B", Tag.BLOCK if is_short else Tag.LONG_BLOCK)
        self._number(">B" if is_short else ">i", len(value))
        self._stream.write(value)

    def _tagged(
        self, tag: int, value: JavaObject | JavaArray | JavaEnum | JavaClassConstant
    ) -> None:
        """Begin a value: its tag, its class, and its number from now on."""
        self._number(">B", tag)
        self.value(value.java_class)
        self._remember(value)

    def _class(self, value: JavaClass) -> None:
        self._number(">B", Tag.CLASS)
        self._text(value.name)
        self._number(">q", value.serial_version)
        self._remember(value)
        self._number(">B", value.flags)
        self._number(">H", len(value.fields))
        for one in value.fields:
            self._field(one)
        self._pieces(value.annotation)
        self.value(value.parent)

    def _field(self, one: JavaField) -> None:
        self._number(">B", ord(one.code))
        self._text(one.name)
        if one.type_name is not None:
            self.value(one.type_name)

    def _pieces(self, pieces: list[JavaValue]) -> None:
        for piece in pieces:
            self.value(piece)
        self._number(">B", Tag.END)

    def _object(self, value: JavaObject) -> None:
        self._tagged(Tag.OBJECT, value)
        classes = value.java_class.lineage()
        for java_class, level in zip(classes, value.levels, strict=True):
            self._level(java_class, level)

    def _level(self, java_class: JavaClass, level: JavaLevel) -> None:
        for one in java_class.fields:
            if one.name not in level.values:
                continue
            if one.code in NUMBERS:
                self._number(NUMBERS[one.code], level.values[one.name])
            else:
                self.value(level.values[one.name])
        # A class that is externalizable has data, too: it says so by flag 8.
        if java_class.writes_data or java_class.flags & 8:
            self._pieces(level.data)

    def _array(self, value: JavaArray) -> None:
        self._tagged(Tag.ARRAY, value)
        if isinstance(value.items, bytes):
            code = value.java_class.name[1:2]
            size = struct.calcsize(NUMBERS[code])
            self._number(">i", len(value.items) // size)
            self._stream.write(value.items)
            return
        self._number(">i", len(value.items))
        for item in value.items:
            self.value(item)
