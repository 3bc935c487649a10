"""Java's lists as tuples: example metadata and label names of DL4J's data sets.

Entries that are text come as str. Others, such as ``RecordMetaDataLine`` of DataVec,
stay :class:`~daskdl.dl4j.java.objects.JavaObject`, whose fields can be read and which
is written back as it was.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO, TypeAlias

from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.java.objects import (
    JavaArray,
    JavaClass,
    JavaField,
    JavaLevel,
    JavaObject,
    JavaValue,
)
from daskdl.dl4j.java.reader import read_java
from daskdl.dl4j.java.writer import write_java
from daskdl.errors import DataError

__all__ = ["JavaList", "read_java_list", "write_java_list"]

_Items: TypeAlias = Callable[[JavaObject], Sequence[JavaValue] | None]

# ArrayList writes its length once more, for a capacity.
_ARRAY_LIST = "java.util.ArrayList"
_ARRAY_LIST_VERSION = 0x7881D21D99C7619D
_FIELDS_AND_DATA = 3


class JavaList(tuple[Any, ...]):
    """A list that was read: a tuple that knows the object it was.

    Parameters
    ----------
    items : iterable
        Text, None, or objects of Java.
    stored : JavaObject
        Written again instead of the items, so that the bytes are the same.
    """

    stored: JavaObject

    def __new__(cls, items: Iterable[Any], stored: JavaObject) -> "JavaList":
        """Make the tuple; the object cannot be handed to a tuple's ``__init__``."""
        made = super().__new__(cls, items)
        made.stored = stored
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return JavaList, (tuple(self), self.stored)


def read_java_list(counted: CountedStream) -> JavaList:
    """Read a list that an ``ObjectOutputStream`` of its own wrote.

    Raises
    ------
    CorruptFileError
        If the stream is damaged, or holds something else than one of Java's own lists.
    """
    start = counted.offset
    value = read_java(counted)
    if isinstance(value, JavaObject) and value.java_class.name in _ITEMS:
        items = _ITEMS[value.java_class.name](value)
        if items is not None:
            return JavaList(items, value)
    name = value.java_class.name if isinstance(value, JavaObject) else type(value)
    must = f"a list of Java must be one of {', '.join(sorted(_ITEMS))}"
    raise counted.corrupt(must, f"{name!r}", start)


def write_java_list(stream: BinaryIO, items: Sequence[Any]) -> None:
    """Write a list as Java serialises it: an ``ArrayList``, or the class it had.

    Parameters
    ----------
    stream : binary stream
    items : sequence of (str, None or JavaObject)

    Raises
    ------
    DataError
        If an entry is of another kind.
    """
    if isinstance(items, JavaList):
        write_java(stream, items.stored)
        return
    for item in items:
        if item is not None and not isinstance(item, str | JavaObject):
            raise DataError(
                "write_java_list: every entry must be text, None or an object read "
                f"from Java, got {item!r}."
            )
    java_class = JavaClass(
        _ARRAY_LIST, _ARRAY_LIST_VERSION, _FIELDS_AND_DATA, [JavaField("I", "size")]
    )
    data = [len(items).to_bytes(4, "big"), *items]
    write_java(stream, JavaObject(java_class, [JavaLevel({"size": len(items)}, data)]))


def _after_block(value: JavaObject) -> Sequence[JavaValue] | None:
    """Return the entries of a list that is stored as a count and its entries."""
    data = value.levels[-1].data
    return data[1:] if data and isinstance(data[0], bytes) else None


def _of_array(value: JavaObject) -> Sequence[JavaValue] | None:
    array = value.fields.get("a")
    if isinstance(array, JavaArray) and isinstance(array.items, list):
        return array.items
    return None


def _of_element(value: JavaObject) -> Sequence[JavaValue] | None:
    return [value.fields.get("element")]


def _of_nothing(value: JavaObject) -> Sequence[JavaValue] | None:
    return []


def _of_list(value: JavaObject) -> Sequence[JavaValue] | None:
    """Return the entries of a list around another: around a plain one, not itself."""
    inner = value.fields.get("list")
    if isinstance(inner, JavaObject) and inner.java_class.name in _PLAIN_ITEMS:
        return _PLAIN_ITEMS[inner.java_class.name](inner)
    return None


_PLAIN_ITEMS: Mapping[str, _Items] = MappingProxyType(
    {
        _ARRAY_LIST: _after_block,
        "java.util.LinkedList": _after_block,
        # What List.of makes.
        "java.util.CollSer": _after_block,
        "java.util.Arrays$ArrayList": _of_array,
        "java.util.Collections$SingletonList": _of_element,
        "java.util.Collections$EmptyList": _of_nothing,
    }
)
_ITEMS: Mapping[str, _Items] = MappingProxyType(
    {
        **_PLAIN_ITEMS,
        "java.util.Collections$UnmodifiableList": _of_list,
        "java.util.Collections$UnmodifiableRandomAccessList": _of_list,
    }
)
