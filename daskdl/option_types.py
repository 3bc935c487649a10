"""Types of options and arguments, held against their annotations.

What comes may be of a wider kind than what is annotated where nobody is misled: a list
for a tuple, NumPy's numbers for Python's. What an annotation says that nobody can hold
a value against, such as a type variable, takes anything.
"""

import collections.abc
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar, Union

import numpy as np

from daskdl.errors import OptionError

__all__ = ["check_option_types", "hints_of", "with_checked_types"]

P = ParamSpec("P")
R = TypeVar("R")

# What is longer is no value that somebody mistyped.
_LONGEST_SHOWN = 80

# What others define may be stood in for, as a client of Dask is by one for tests; what
# daskdl does says more where it is used.
_OF_MODULES = ("builtins", "collections", "datetime", "os")

_NUMBERS: dict[Any, type] = {int: Integral, float: Real}
_SEVERAL = (tuple, list, collections.abc.Sequence, collections.abc.Iterable)
_WORDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a str",
    types.NoneType: "None",
    os.PathLike: "a path",
}
_WORDS_FOR_SEVERAL = {
    str: "strs",
    int: "whole numbers",
    float: "numbers",
    bool: "bools",
}


def check_option_types(
    who: str, values: Mapping[str, Any], hints: Mapping[str, Any]
) -> None:
    """Refuse values that are not what their annotations say.

    Parameters
    ----------
    who : str
        For messages.
    values : mapping of str to value
        By the names of options.
    hints : mapping of str to type
        Of the options; those that are not among `values` are of no concern.

    Raises
    ------
    OptionError
        For the first that is of another type.
    """
    for name, value in values.items():
        hint = hints.get(name, Any)
        if not _is_of(hint, value):
            raise OptionError(
                f"{who}: {name} must be {_in_words(hint)}, got {_shown(value)}."
            )


def with_checked_types(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function, or a method, against its annotations.

    Raises
    ------
    OptionError
        By the decorated function, in front of all else; see `check_option_types`.
    """
    hints = hints_of(function)
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        who = function.__name__
        if names[:1] == ["self"]:
            who = f"{type(args[0]).__name__}.{who}"
        # Of more than there are Python says that they are too many.
        check_option_types(
            who, {**dict(zip(names, args, strict=False)), **kwargs}, hints
        )
        return function(*args, **kwargs)

    return checked


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the arguments of a function that stand there as objects."""
    written = inspect.get_annotations(function)
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {
        name: written[name]
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind not in several and not isinstance(written.get(name, ""), str)
    }


def _is_of(hint: Any, value: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_is_of(one, value) for one in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    kind = origin or hint
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    if kind in _SEVERAL:
        return _is_several(kind, typing.get_args(hint), value)
    if kind is collections.abc.Callable:
        return callable(value)
    if kind is dict and isinstance(value, dict):
        # Keys become names of arguments.
        of_keys = (typing.get_args(hint) or (Any,))[0]
        return all(_is_of(of_keys, key) for key in value)
    is_known = isinstance(kind, type) and kind.__module__.split(".")[0] in _OF_MODULES
    if not is_known or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _is_several(kind: Any, inner: tuple[Any, ...], value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    if not isinstance(value, list | tuple):
        # What can be gone through once is not gone through here.
        return kind not in (tuple, list)
    return all(_is_of(inner[0], one) for one in value) if inner else True


def _in_words(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        said = list(dict.fromkeys(map(_in_words, typing.get_args(hint))))
        return " or ".join([", ".join(said[:-1]), said[-1]]) if said[1:] else said[0]
    kind = origin or hint
    if kind in _SEVERAL:
        (first, *_) = typing.get_args(hint) or (Any,)
        return f"several {_WORDS_FOR_SEVERAL.get(first, _in_words(first))}"
    if kind is collections.abc.Callable:
        return "a function"
    if kind in (dict, collections.abc.Mapping):
        return "a dict"
    return _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _shown(value: Any) -> str:
    text = repr(value)
    is_short = len(text) <= _LONGEST_SHOWN and "\n" not in text
    return text if is_short else f"a {type(value).__name__}"
