"""Objects that Java serialised, as plain data: nothing of them is ever executed.

DL4J appends lists of them to its data sets: example metadata and label names. What is
here describes them; :mod:`daskdl.dl4j.java.reader` and :mod:`daskdl.dl4j.java.writer`
turn bytes into them and back, :mod:`daskdl.dl4j.java.lists` knows Java's lists.

References
----------
Java Object Serialization Specification, version 6.0, chapter 6.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "JavaArray",
    "JavaClass",
    "JavaClassConstant",
    "JavaEnum",
    "JavaField",
    "JavaLevel",
    "JavaObject",
    "JavaValue",
    "Tag",
]

JavaValue: TypeAlias = Any
"""None, str, bytes (block data), a number, a bool, or one of the classes below."""


class Tag:
    """The byte that each piece of a stream begins with."""

    NULL = 0x70
    REFERENCE = 0x71
    CLASS = 0x72
    OBJECT = 0x73
    STRING = 0x74
    ARRAY = 0x75
    CLASS_CONSTANT = 0x76
    BLOCK = 0x77
    END = 0x78
    LONG_BLOCK = 0x7A
    LONG_STRING = 0x7C
    ENUM = 0x7E


@dataclass(frozen=True)
class JavaField:
    """A field of a class.

    Parameters
    ----------
    code : str
        ``I``, ``J``, ``D``, ... for numbers, ``L`` for objects, ``[`` for arrays.
    name : str
    type_name : str or None
        Of objects and arrays, in the notation of the virtual machine.
    """

    code: str
    name: str
    type_name: str | None = None


# Compared by identity, as Java does: an object may hold itself.
@dataclass(eq=False)
class JavaClass:
    """The description of a class.

    Parameters
    ----------
    name : str
    serial_version : int
        Its ``serialVersionUID``.
    flags : int
        1: it writes data of its own; 2: serialisable.
    fields : list of JavaField
        In stored order.
    annotation : list
        What its class loader wrote.
    parent : JavaClass or None
        The serialisable class it extends.
    """

    name: str
    serial_version: int
    flags: int = 2
    fields: list[JavaField] = field(default_factory=list)
    annotation: list[JavaValue] = field(default_factory=list)
    parent: "JavaClass | None" = None

    @property
    def writes_data(self) -> bool:
        """Whether objects carry data besides their fields."""
        return bool(self.flags & 1)

    def lineage(self) -> list["JavaClass"]:
        """Return the class and its superclasses, the most general one first."""
        classes = []
        current: JavaClass | None = self
        while current is not None:
            classes.append(current)
            current = current.parent
        return classes[::-1]


@dataclass(eq=False)
class JavaLevel:
    """The stored fields of one class of an object's lineage.

    Parameters
    ----------
    values : dict of str to value
        By name of the field.
    data : list
        Besides the fields: block data as bytes, and objects.
    """

    values: dict[str, JavaValue]
    data: list[JavaValue] = field(default_factory=list)


@dataclass(eq=False)
class JavaObject:
    """An object of some class.

    Parameters
    ----------
    java_class : JavaClass
    levels : list of JavaLevel
        One for each class of its lineage, the most general one first.
    """

    java_class: JavaClass
    levels: list[JavaLevel] = field(default_factory=list)

    @property
    def fields(self) -> dict[str, JavaValue]:
        """The fields of all levels by name."""
        return {
            name: value for level in self.levels for name, value in level.values.items()
        }

    def __repr__(self) -> str:
        return f"JavaObject({self.java_class.name})"


@dataclass(eq=False)
class JavaArray:
    """An array; `items` are values, or the raw bytes of numbers."""

    java_class: JavaClass
    items: list[JavaValue] | bytes = field(default_factory=list)


@dataclass(eq=False)
class JavaEnum:
    """A constant of an enumeration."""

    java_class: JavaClass
    constant: str = ""


@dataclass(eq=False)
class JavaClassConstant:
    """A class as a value."""

    java_class: JavaClass | None
