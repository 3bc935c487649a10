"""Reads objects that Java serialised into plain data; no class is ever loaded.

A stream of Java describes its own structure, so that any object can be read over
without knowing its class. Depth is bounded, and nothing is allocated that the stream
does not hold.

References
----------
Java Object Serialization Specification, version 6.0, section 6.4 (the grammar).
"""

import struct
from collections.abc import Callable
from typing import Any

from daskdl.dl4j.java.counted_stream import CountedStream
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

__all__ = ["NUMBERS", "STREAM_HEAD", "read_java"]

STREAM_HEAD = bytes((0xAC, 0xED, 0, 5))
"""What a stream of Java begins with: its magic number and version 5."""

NUMBERS = {
    "B": ">b",
    "C": ">H",
    "D": ">d",
    "F": ">f",
    "I": ">i",
    "J": ">q",
    "S": ">h",
    "Z": ">?",
}
"""Code of a primitive type to the format that :mod:`struct` knows it by."""

_FIRST_HANDLE = 0x7E0000
# Metadata is flat; a list of lists of lists is meant to exhaust the stack.
_MOST_LEVELS = 50
_MOST_PIECES = 1_000_000
_MOST_BYTES = 2**31 - 1
_SERIALIZABLE, _EXTERNALIZABLE, _BLOCK_DATA = 2, 4, 8
_END = object()


def read_java(counted: CountedStream) -> JavaValue:
    """Read one object that an ``ObjectOutputStream`` of its own wrote.

    Parameters
    ----------
    counted : CountedStream
        Left right behind the object.

    Raises
    ------
    CorruptFileError
        If the stream is damaged, ends too early, nests deeper than 50 levels, or holds
        what cannot be read without its class; with the offset.
    """
    return _Reader(counted).read()


class _Reader:
    """Reads a stream, and keeps the objects that later parts refer to by number."""

    def __init__(self, counted: CountedStream) -> None:
        self._counted = counted
        self._handles: list[Any] = []
        self._depth = 0
        self._n_pieces = 0
        self._readers: dict[int, Callable[[], JavaValue]] = {
            Tag.NULL: lambda: None,
            Tag.REFERENCE: self._reference,
            Tag.CLASS: self._class,
            Tag.OBJECT: self._object,
            Tag.STRING: lambda: self._remembered_text(counted.take_number(">H")),
            Tag.LONG_STRING: lambda: self._remembered_text(self._size(">q")),
            Tag.ARRAY: self._array,
            Tag.CLASS_CONSTANT: self._class_constant,
            Tag.BLOCK: lambda: counted.take(counted.take_number(">B")),
            Tag.LONG_BLOCK: lambda: counted.take(self._size(">i")),
            Tag.END: lambda: _END,
            Tag.ENUM: self._enum,
        }

    def read(self) -> JavaValue:
        start = self._counted.offset
        head = self._counted.take(len(STREAM_HEAD))
        if head != STREAM_HEAD:
            must = "what Java serialised must begin with aced0005"
            raise self._counted.corrupt(must, head.hex(), start)
        return self._value()

    def _size(self, form: str) -> int:
        return self._counted.take_count(form, "bytes or entries", _MOST_BYTES)

    def _value(self) -> JavaValue:
        """Read one value; refuse the end of a list in its place."""
        start = self._counted.offset
        value = self._piece()
        if value is _END:
            raise self._counted.corrupt("a value must follow", "the end mark", start)
        return value

    def _piece(self) -> Any:
        start = self._counted.offset
        tag = self._counted.take_number(">B")
        if tag not in self._readers:
            must = "what Java serialised must go on with a known mark"
            raise self._counted.corrupt(must, f"{tag:#04x}", start)
        if self._depth == _MOST_LEVELS:
            must = f"what Java serialised must nest at most {_MOST_LEVELS} deep"
            raise self._counted.corrupt(must, "more", start)
        self._count_pieces(1)
        self._depth += 1
        piece = self._readers[tag]()
        self._depth -= 1
        return piece

    def _count_pieces(self, n: int) -> None:
        """Bound the memory: a piece takes up to 500 bytes, and one in the stream."""
        self._n_pieces += n
        if self._n_pieces > _MOST_PIECES:
            must = f"what Java serialised must have at most {_MOST_PIECES} pieces"
            raise self._counted.corrupt(must, "more")

    def _pieces(self) -> list[JavaValue]:
        """Read values up to the mark that ends them."""
        pieces = []
        while (piece := self._piece()) is not _END:
            pieces.append(piece)
        return pieces

    def _reference(self) -> JavaValue:
        start = self._counted.offset
        index = self._counted.take_number(">i") - _FIRST_HANDLE
        if not 0 <= index < len(self._handles):
            must = f"a reference must be to one of {len(self._handles)} earlier objects"
            raise self._counted.corrupt(must, str(index), start)
        return self._handles[index]

    def _remembered_text(self, n_bytes: int) -> str:
        text = self._counted.take_text_of(n_bytes)
        self._handles.append(text)
        return text

    def _class(self) -> JavaClass:
        name = self._counted.take_text()
        found = JavaClass(name, self._counted.take_number(">q"))
        self._handles.append(found)
        found.flags = self._counted.take_number(">B")
        n_fields = self._counted.take_number(">H")
        self._count_pieces(n_fields)
        found.fields = [self._field() for _ in range(n_fields)]
        found.annotation = self._pieces()
        found.parent = self._class_or_null()
        self._check_lineage(found)
        return found

    def _check_lineage(self, found: JavaClass) -> None:
        ancestor = found.parent
        for _ in range(_MOST_LEVELS):
            if ancestor is None:
                return
            ancestor = ancestor.parent
        # More ancestors than any class has, or one that extends itself.
        must = f"class {found.name!r} must extend at most {_MOST_LEVELS} classes"
        raise self._counted.corrupt(must, "more")

    def _class_or_null(self) -> JavaClass | None:
        start = self._counted.offset
        value = self._value()
        if value is not None and not isinstance(value, JavaClass):
            must = "the description of a class must follow"
            raise self._counted.corrupt(must, type(value).__name__, start)
        return value

    def _class_of_value(self) -> JavaClass:
        start = self._counted.offset
        found = self._class_or_null()
        if found is None:
            raise self._counted.corrupt("an object must have a class", "none", start)
        return found

    def _field(self) -> JavaField:
        start = self._counted.offset
        code = chr(self._counted.take_number(">B"))
        name = self._counted.take_text()
        if code in NUMBERS:
            return JavaField(code, name)
        if code not in "L[":
            must = f"field {name!r} must have a known type"
            raise self._counted.corrupt(must, repr(code), start)
        type_name = self._value()
        if not isinstance(type_name, str):
            must = f"the type of field {name!r} must be text"
            raise self._counted.corrupt(must, type(type_name).__name__, start)
        return JavaField(code, name, type_name)

    def _object(self) -> JavaObject:
        found = JavaObject(self._class_of_value())
        self._handles.append(found)
        for java_class in found.java_class.lineage():
            found.levels.append(self._level(java_class))
        return found

    def _level(self, java_class: JavaClass) -> JavaLevel:
        self._count_pieces(1 + len(java_class.fields))
        if java_class.flags & _SERIALIZABLE:
            values = {one.name: self._field_value(one) for one in java_class.fields}
            return JavaLevel(values, self._pieces() if java_class.writes_data else [])
        if java_class.flags & _EXTERNALIZABLE and java_class.flags & _BLOCK_DATA:
            return JavaLevel({}, self._pieces())
        if java_class.flags & _EXTERNALIZABLE:
            must = "objects must say where they end"
            raise self._counted.corrupt(must, f"one of class {java_class.name!r}")
        return JavaLevel({})

    def _field_value(self, one: JavaField) -> JavaValue:
        return (
            self._counted.take_number(NUMBERS[one.code])
            if one.code in NUMBERS
            else self._value()
        )

    def _array(self) -> JavaArray:
        start = self._counted.offset
        found = JavaArray(self._class_of_value())
        self._handles.append(found)
        size = self._size(">i")
        code = found.java_class.name[1:2]
        if code in NUMBERS:
            found.items = self._counted.take(size * struct.calcsize(NUMBERS[code]))
        elif code and code in "L[":
            found.items = [self._value() for _ in range(size)]
        else:
            must = "an array must have a class of arrays"
            raise self._counted.corrupt(must, repr(found.java_class.name), start)
        return found

    def _class_constant(self) -> JavaClassConstant:
        found = JavaClassConstant(self._class_or_null())
        self._handles.append(found)
        return found

    def _enum(self) -> JavaEnum:
        start = self._counted.offset
        found = JavaEnum(self._class_of_value())
        self._handles.append(found)
        constant = self._value()
        if not isinstance(constant, str):
            must = "a constant of an enumeration must have a name"
            raise self._counted.corrupt(must, type(constant).__name__, start)
        found.constant = constant
        return found
