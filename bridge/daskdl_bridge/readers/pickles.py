"""Python's pickles, read without running what they name.

Python's own reader imports and calls whatever a pickle says, and takes the memory that
one claims. This one knows the instructions that values, arrays and Spark's examples
need. It calls only what `daskdl_bridge.readers.pickled_classes` lists and the user
allows. Every other name or instruction is refused where it stands.
"""

import pickletools
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers.allowed_classes import (
    AllowedGlobal,
    AllowedObject,
    imported,
    without_classes,
)
from daskdl_bridge.readers.pickled_classes import (
    STAND_INS,
    LabeledPoint,
    PickledArray,
    Vector,
    built,
)

__all__ = ["load_pickle"]

_NEWEST_PROTOCOL = 5

# Empty ones take 64 bytes for one in the file.
_MOST_CONTAINERS = 1 << 20

# What stands once and is named again, all times together: names of columns, and short
# tuples that do not change. Nested, they would grow without bounds. A name of 100 bytes
# before a small number is 20 times what it takes in the file.
_MOST_REPEATED_TIMES = 64
_MOST_REPEATED_BYTES = 128 << 20
_ITEM_BYTES = 8

_FLOAT = ord("G")
_NAMES = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}


def load_pickle(data: bytes, name: str, allow: Collection[str] = ()) -> Any:
    """Return the object that a pickle holds.

    Parameters
    ----------
    data : bytes
        One pickle, of protocol 2 to 5, and nothing behind it.
    name : str
        Of the pickle, for messages.
    allow : collection of str
        Further classes and functions, with their modules. Those are imported and run.

    Returns
    -------
    object
        None, bool, int, float, str, bytes, date, datetime, timedelta, Decimal, list,
        tuple, dict with texts for keys, PickledArray, Vector, LabeledPoint, or of
        those. Rows of Spark, named tuples and objects of allowed classes are dicts.

    Raises
    ------
    DataError
        If it names anything else, or needs an instruction that those do not; before
        that is run. If what is allowed is not found or fails. If what it repeats would
        take 64 times its own bytes, or 128 MiB.
    CorruptFileError
        If it is cut short or damaged.
    """
    machine = _Machine(data, name, frozenset(allow))
    try:
        found = machine.run()
        return without_classes(found) if allow else found
    except DataError:
        raise
    except RecursionError as error:
        raise DataError(
            f"{name}: a pickle that may name your own classes must not be nested "
            "deeper than Python's calls, it is. Have Spark write flat objects."
        ) from error
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise CorruptFileError(
            f"{name}: a pickle must be whole, it is not before its byte {machine.at}: "
            f"{error}. Copy the file again, or have it written anew."
        ) from error


class _Machine:
    def __init__(self, data: bytes, name: str, allow: frozenset[str]) -> None:
        self.at = 0
        self._allow = allow
        self.stack: list[Any] = []
        self._data, self._name = data, name
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._named_again: set[int] = set()
        self._n_containers = 0
        self._repeatable_bytes = min(
            _MOST_REPEATED_TIMES * len(data), _MOST_REPEATED_BYTES
        )

    def run(self) -> Any:
        data = self._data
        while (code := self._take(1)[0]) != ord("."):
            if code == _FLOAT:
                self._floats()
            elif code in _CONSTANTS:
                self.stack.append(_CONSTANTS[code])
            elif code in _INSTRUCTIONS:
                _INSTRUCTIONS[code](self)
            else:
                raise self._refused(f"the instruction {_NAMES.get(code, code)}")
        (result,) = self.stack
        if self._marked or self.at != len(data):
            raise ValueError(f"{len(data) - self.at} bytes behind its end")
        return result

    def _take(self, n_bytes: int) -> bytes:
        start, self.at = self.at, self.at + n_bytes
        if self.at > len(self._data):
            raise ValueError(f"{n_bytes} bytes must follow byte {start}")
        return self._data[start : self.at]

    def take_number(self, form: str) -> Any:
        (number,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return number

    def take_bytes(self, form: str) -> bytes:
        return self._take(self.take_number(form))

    def _floats(self) -> None:
        # Most of what lists hold; one after the other, without looking each up.
        data, at, push = self._data, self.at, self.stack.append
        end = len(data) - 8
        while at <= end:
            push(_DOUBLE(data, at)[0])
            at += 8
            if at >= end or data[at] != _FLOAT:
                break
            at += 1
        else:
            raise ValueError("8 bytes of a float must follow")
        self.at = at

    def protocol(self) -> None:
        protocol = self._take(1)[0]
        if protocol > _NEWEST_PROTOCOL:
            raise self._refused(f"protocol {protocol}")

    def frame(self) -> None:
        n_bytes = self.take_number("<Q")
        if n_bytes > len(self._data) - self.at:
            raise ValueError(f"a frame of {n_bytes} bytes")

    def long(self) -> int:
        raw = self.take_bytes("<B")
        if len(raw) > 9:
            raise self._refused(f"an integer of {len(raw)} bytes")
        return int.from_bytes(raw, "little", signed=True)

    def mark(self) -> None:
        self._count_container()
        self._marked.append(self.stack)
        self.stack = []

    def _to_mark(self) -> list[Any]:
        items, self.stack = self.stack, self._marked.pop()
        return items

    def push_container(self, container: Any) -> None:
        self._count_container()
        self.stack.append(container)

    def _count_container(self) -> None:
        self._n_containers += 1
        if self._n_containers > _MOST_CONTAINERS:
            raise self._refused(f"more than {_MOST_CONTAINERS} containers")

    def tuple_to_mark(self) -> None:
        self.push_container(tuple(self._to_mark()))

    def tuple_of(self, n_items: int) -> None:
        if len(self.stack) < n_items:
            raise ValueError(f"a tuple of {n_items} without its items")
        items = tuple(self.stack[-n_items:])
        del self.stack[-n_items:]
        self.push_container(items)

    def append(self) -> None:
        item = self.stack.pop()
        self._extended([item])

    def appends(self) -> None:
        self._extended(self._to_mark())

    def _extended(self, items: list[Any]) -> None:
        target = self._changeable(list)
        target.extend(items)

    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def set_items(self) -> None:
        self._set_items(self._to_mark())

    def _set_items(self, items: list[Any]) -> None:
        target = self._changeable(dict)
        keys = items[::2]
        if not {str}.issuperset(map(type, keys)):
            raise self._refused("a dict whose keys are no texts")
        target.update(zip(keys, items[1::2], strict=True))

    def _changeable(self, kind: Any) -> Any:
        """Return what lies on top, if nothing else holds it yet.

        What was counted when it was named again must not grow.
        """
        target = self.stack[-1]
        if type(target) is not kind:
            raise ValueError(f"items of a {kind.__name__} for another object")
        self._refuse_shared(target)
        return target

    def _refuse_shared(self, target: Any) -> None:
        if id(target) in self._named_again:
            raise self._refused("an object within itself, or changed after its use")

    def put(self, index: int) -> None:
        if index in self._memo:
            raise ValueError(f"two objects of number {index}")
        self._memo[index] = self.stack[-1]

    def memoize(self) -> None:
        self.put(len(self._memo))

    def get(self, index: int) -> None:
        if index not in self._memo:
            raise ValueError(f"no object of number {index}")
        found = self._memo[index]
        self._repeatable_bytes -= _nbytes(found, self._repeatable_bytes)
        if self._repeatable_bytes < 0:
            raise self._refused("the same objects too many times")
        self._named_again.add(id(found))
        self.stack.append(found)

    def name_of_lines(self) -> None:
        names = []
        for _ in range(2):
            end = self._data.index(b"\n", self.at)
            names.append(self._take(end - self.at).decode())
            self.at = end + 1
        self._push_stand_in(*names)

    def name_of_stack(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            raise ValueError("a name that is no text")
        self._push_stand_in(module, name)

    def _push_stand_in(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        if full in STAND_INS:
            self.stack.append(STAND_INS[full])
        elif full in self._allow:
            with self._allowed():
                self.stack.append(imported(module, name, self._name))
        else:
            raise self._refused(f"{full[:200]!r}")

    def reduce(self) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if type(arguments) is not tuple:
            raise ValueError("arguments that are no tuple")
        if isinstance(called, AllowedGlobal):
            with self._allowed():
                self.push_container(called.called(arguments))
            return
        if not any(called is one for one in _CALLED):
            raise self._refused(f"a call of a {type(called).__name__}")
        self.push_container(called(*arguments))

    def new_object(self) -> None:
        self._new_object({})

    def new_object_with_names(self) -> None:
        named = self.stack.pop()
        if type(named) is not dict:
            raise ValueError("named arguments that are no dict")
        self._new_object(named)

    def _new_object(self, named: dict[str, Any]) -> None:
        arguments, kind = self.stack.pop(), self.stack.pop()
        if not isinstance(kind, AllowedGlobal) or type(arguments) is not tuple:
            raise self._refused("an object of a class")
        with self._allowed():
            self.push_container(kind.made(arguments, named))

    def build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        self._refuse_shared(target)
        if isinstance(target, AllowedObject):
            with self._allowed():
                target.set_state(state)
            return
        built(target, state)

    @contextmanager
    def _allowed(self) -> Iterator[None]:
        """Tell what code of the user raises from damage."""
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"{self._name}: what allow names must take what the pickle gives it, "
                f"it fails before byte {self.at}: {error!r}."
            ) from error

    def _refused(self, got: str) -> DataError:
        return DataError(
            f"{self._name}: a pickle must hold numbers, texts, bytes, dates, lists, "
            "tuples, dicts, arrays of numbers of NumPy, and vectors, labelled points "
            f"and rows of Spark, got {got} before its byte {self.at}. Nothing else is "
            "read, as it may run any code. Have Spark write Parquet, or name your own "
            "classes in allow."
        )


def _nbytes(found: Any, most: int) -> int:
    """Return what an object takes with all that is in it; stops beyond `most`."""
    total, left = 0, [found]
    while left and total <= most:
        one = left.pop()
        if isinstance(one, str | bytes):
            total += len(one)
        elif isinstance(one, PickledArray):
            total += 0 if one.array is None else one.array.nbytes
        elif isinstance(one, LabeledPoint):
            left.append(one.features)
        elif isinstance(one, Vector):
            total += one.values.nbytes
            total += 0 if one.indices is None else one.indices.nbytes
        elif isinstance(one, AllowedObject):
            total += _ITEM_BYTES
            left += one.given
        elif isinstance(one, list | tuple | dict):
            total += _ITEM_BYTES * len(one)
            left += one
            left += one.values() if isinstance(one, dict) else ()
    return total


def _pushing(take: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(take(machine))


def _number(form: str) -> Callable[[_Machine], None]:
    return _pushing(lambda machine: machine.take_number(form))


def _text(form: str) -> Callable[[_Machine], None]:
    return _pushing(lambda machine: machine.take_bytes(form).decode())


def _bytes(form: str) -> Callable[[_Machine], None]:
    return _pushing(lambda machine: machine.take_bytes(form))


def _by_code(table: Mapping[bytes, Any]) -> Mapping[int, Any]:
    return MappingProxyType({code[0]: one for code, one in table.items()})


_DOUBLE = struct.Struct(">d").unpack_from
_CALLED = tuple(STAND_INS.values())

_CONSTANTS = _by_code({b"N": None, b"\x88": True, b"\x89": False, b")": ()})

_INSTRUCTIONS: Mapping[int, Callable[[_Machine], None]] = _by_code(
    {
        b"\x80": _Machine.protocol,
        b"\x95": _Machine.frame,
        b"J": _number("<i"),
        b"K": _number("<B"),
        b"M": _number("<H"),
        b"\x8a": _pushing(_Machine.long),
        b"X": _text("<I"),
        b"\x8c": _text("<B"),
        b"\x8d": _text("<Q"),
        b"B": _bytes("<I"),
        b"C": _bytes("<B"),
        b"\x8e": _bytes("<Q"),
        b"\x96": _bytes("<Q"),
        b"(": _Machine.mark,
        b"]": lambda machine: machine.push_container([]),
        b"}": lambda machine: machine.push_container({}),
        b"t": _Machine.tuple_to_mark,
        b"\x85": lambda machine: machine.tuple_of(1),
        b"\x86": lambda machine: machine.tuple_of(2),
        b"\x87": lambda machine: machine.tuple_of(3),
        b"a": _Machine.append,
        b"e": _Machine.appends,
        b"s": _Machine.set_item,
        b"u": _Machine.set_items,
        b"q": lambda machine: machine.put(machine.take_number("<B")),
        b"r": lambda machine: machine.put(machine.take_number("<I")),
        b"\x94": _Machine.memoize,
        b"h": lambda machine: machine.get(machine.take_number("<B")),
        b"j": lambda machine: machine.get(machine.take_number("<I")),
        b"c": _Machine.name_of_lines,
        b"\x93": _Machine.name_of_stack,
        b"R": _Machine.reduce,
        b"\x81": _Machine.new_object,
        b"\x92": _Machine.new_object_with_names,
        b"b": _Machine.build,
    }
)
"""Code of an instruction to what does it; floats and constants are apart."""
