"""Data that came as several arguments: a message instead of Python's count of them."""

import inspect
from collections.abc import Callable
from functools import wraps
from numbers import Number
from typing import Any, TypeVar

from daskdl.errors import OptionError
from daskdl.option_types import check_option_types, hints_of

__all__ = ["data_in_one", "refuse_pair"]

F = TypeVar("F", bound=Callable[..., Any])


def data_in_one(function: F) -> F:
    """Let a function that takes data behind its network say how; a decorator.

    Options that are not of the annotated types are refused.

    Of features and labels one after the other, as of options that have no names, Python
    says only that there are too many.
    """
    hints = hints_of(function)
    parameters = inspect.signature(function).parameters.values()
    taken = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if len(args) > len(taken):
            who = f"{type(args[0]).__name__}.{function.__name__}"
            for surplus in args[2:]:
                refuse_pair(who, surplus)
            raise OptionError(
                f"{who}: must be called with {' and '.join(taken[1:])}, and options by "
                f"name, got {len(args) - 1} arguments without one."
            )
        whose = f"{type(args[0]).__name__}." if args else ""
        check_option_types(f"{whose}{function.__name__}", options, hints)
        return function(*args, **options)

    return checked  # type: ignore[return-value]


def refuse_pair(who: str, second: Any) -> None:
    """Refuse labels that came as an argument of their own.

    Parameters
    ----------
    who : str
        Class and method.
    second : object
        What came behind the features, whatever it is.

    Raises
    ------
    OptionError
        If it is an array, or a list of numbers or arrays.
    """
    if _is_array(second):
        raise OptionError(
            f"{who}: features and labels must come as one argument, a pair, got "
            f"several. Give {who.rpartition('.')[2]}((features, labels))."
        )


def _is_array(value: Any) -> bool:
    if isinstance(value, list | tuple) and value:
        return isinstance(value[0], Number) or _is_array(value[0])
    return hasattr(value, "__array__")
