"""Classes and functions that the user lets pickles name, and what they make.

Each is imported and called as Python's own reader does. What is in an object becomes
columns as what is in a dict does: the fields of named tuples and data classes, and the
attributes of others.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from daskdl.errors import DataError
from daskdl_bridge.readers.pickled_classes import (
    LabeledPoint,
    PickledArray,
    PickledType,
    Vector,
)

__all__ = ["AllowedGlobal", "AllowedObject", "imported", "without_classes"]


class AllowedObject:
    """What a class or function made.

    Parameters
    ----------
    own : object
        Itself.
    given : list
        What it was made of, to be counted when the object is named again.
    """

    def __init__(self, own: Any, given: list[Any]) -> None:
        self.own = own
        self.given = given

    def set_state(self, state: Any) -> None:
        """Give the object its attributes, as Python's reader does."""
        self.given.append(state)
        state = _own(state)
        if hasattr(self.own, "__setstate__"):
            self.own.__setstate__(state)
            return
        for part in state if isinstance(state, tuple) else (state,):
            for name, value in (part or {}).items():
                # As those of frozen data classes must be.
                object.__setattr__(self.own, name, value)


@dataclasses.dataclass(frozen=True)
class AllowedGlobal:
    """A class or function by its name.

    Parameters
    ----------
    found : object
        Itself.
    """

    found: Any

    def called(self, arguments: tuple[Any, ...]) -> AllowedObject:
        """Return what a call of it gives."""
        return AllowedObject(self.found(*_own(arguments)), list(arguments))

    def made(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> AllowedObject:
        """Return a new object, whose state may follow."""
        made = self.found.__new__(self.found, *_own(arguments), **_own(named))
        return AllowedObject(made, [*arguments, *named.values()])


def imported(module: str, name: str, place: str) -> AllowedGlobal:
    """Return the class or function of a name that the user allows.

    Parameters
    ----------
    module, name : str
    place : str
        For messages.

    Raises
    ------
    DataError
        If this process does not find it.
    """
    try:
        found: Any = importlib.import_module(module)
        for piece in name.split("."):
            found = getattr(found, piece)
    except (ImportError, AttributeError) as error:
        raise DataError(
            f"{place}: what allow names must be found on every worker, "
            f"{module}.{name} is not: {error}. Install its package there, or send its "
            "file with client.upload_file."
        ) from error
    return AllowedGlobal(found)


def without_classes(value: Any) -> Any:
    """Return a value with dicts in place of all objects of allowed classes."""
    if isinstance(value, AllowedObject):
        return without_classes(value.own)
    if isinstance(value, Vector | LabeledPoint | PickledArray):
        return value
    if isinstance(value, np.ndarray):
        return PickledArray(np.ascontiguousarray(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return list(map(without_classes, value))
    parts = _parts(value)
    if parts is not None:
        return {name: without_classes(part) for name, part in parts.items()}
    return tuple(map(without_classes, value)) if isinstance(value, tuple) else value


def _parts(value: Any) -> Mapping[str, Any] | None:
    """Return what an object consists of by name; None if it is none of those."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "_asdict"):
        parts: Mapping[str, Any] = value._asdict()
        return parts
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: getattr(value, name) for name in names}
    return getattr(value, "__dict__", None)


def _own(value: Any) -> Any:
    """Return a value as the user's classes know it."""
    if isinstance(value, AllowedObject):
        return value.own
    if isinstance(value, AllowedGlobal):
        return value.found
    if isinstance(value, PickledArray):
        return value.array
    if isinstance(value, PickledType):
        return value.dtype
    if isinstance(value, list | tuple):
        return type(value)(map(_own, value))
    if isinstance(value, Mapping):
        return {name: _own(one) for name, one in value.items()}
    return value
