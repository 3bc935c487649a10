"""DL4J's own names for methods, for programs that come from there."""

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from daskdl.cluster.camel_case import answers_to_camel_case
from daskdl.cluster.dl4j_names import INTERFACE, NAMES, Dl4jName, snake_case
from daskdl.errors import OptionError

__all__ = ["answers_to_dl4j", "refuses_methods_of_dl4j"]

T = TypeVar("T", bound=type)


def answers_to_dl4j(cls: T) -> T:
    """Give a class every method of that of DL4J that it stands for.

    In DL4J's spelling and in Python's; those that nothing stands for refuse to be
    called, with what takes their place. Its own methods have camelCase names, too.
    Its ``stands_for`` is the name of that class.
    """
    answers_to_camel_case(cls)
    stands_for: str = vars(cls)["stands_for"]
    for one in NAMES:
        if stands_for in one.of:
            method = getattr(cls, one.here) if one.here else _refusing(one)
            setattr(cls, one.name, method)
            if not hasattr(cls, snake_case(one.name)):
                setattr(cls, snake_case(one.name), method)
    return cls


def refuses_methods_of_dl4j(cls: T) -> T:
    """Let the methods of DL4J's interface refuse to be called; see `answers_to_dl4j`.

    For classes that have none of them.
    """
    for one in NAMES:
        if INTERFACE in one.of:
            setattr(cls, one.name, _refusing(one))
            setattr(cls, snake_case(one.name), _refusing(one))
    return cls


def _refusing(one: Dl4jName) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **options: Any) -> NoReturn:
        raise OptionError(
            f"{type(self).__name__}: {one.name} must not be called, it is a method of "
            f"DL4J's alone. {one.instead.replace('`', '')}."
        )

    refuse.__name__ = refuse.__qualname__ = snake_case(one.name)
    refuse.__doc__ = f"Refuse to be called: {one.instead}."
    return refuse
