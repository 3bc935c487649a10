"""Checks of arguments and options, with one wording for every refusal.

It is *who: what must hold, what came. [What to do.]*

The functions return the value they checked, so that a check can stand where the value
is used.
"""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

from daskdl.errors import OptionError

T = TypeVar("T")

# File systems end names there.
_LONGEST_NAME = 255


def check_positive(who: str, option: str, value: float) -> float:
    """Refuse a number that is not greater than 0, or infinite."""
    if not _is_number(value) or not value > 0:
        raise OptionError(f"{who}: {option} must be > 0, got {value!r}.")
    if math.isinf(value):
        raise OptionError(f"{who}: {option} must be finite, got {value!r}.")
    return value


def check_at_least(who: str, option: str, value: float, least: float) -> float:
    """Refuse a number below `least`."""
    if not _is_number(value) or not value >= least:
        raise OptionError(f"{who}: {option} must be >= {least!r}, got {value!r}.")
    return value


def check_between(
    who: str, option: str, value: float, low: float, high: float
) -> float:
    """Refuse a number outside the closed interval from `low` to `high`."""
    if not _is_number(value) or not low <= value <= high:
        raise OptionError(
            f"{who}: {option} must be from {low!r} to {high!r}, got {value!r}."
        )
    return value


def check_fraction(who: str, option: str, value: float) -> float:
    """Refuse a number that is negative, or not below 1."""
    if not _is_number(value) or not 0 <= value < 1:
        raise OptionError(f"{who}: {option} must be from 0 to below 1, got {value!r}.")
    return value


def check_count(who: str, option: str, value: Any) -> int:
    """Refuse a value that is not a whole number greater than 0."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise OptionError(f"{who}: {option} must be a whole number > 0, got {value!r}.")
    return int(value)


def check_whole(who: str, option: str, value: Any) -> int:
    """Refuse a value that is not a whole number, 0 or greater."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        raise OptionError(
            f"{who}: {option} must be a whole number >= 0, got {value!r}."
        )
    return int(value)


def check_index(who: str, option: str, value: Any, size: int) -> int:
    """Refuse a value that is not an index below `size`."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if is_whole and 0 <= int(value) < size:
        return int(value)
    if not size:
        raise OptionError(
            f"{who}: {option} must be among those counted, got {value!r} and no data. "
            "Call eval first."
        )
    raise OptionError(
        f"{who}: {option} must be a whole number from 0 to {size - 1}, got {value!r}."
    )


def indexed(name: str, index: int, count: int) -> str:
    """Return the name of one of several arrays: ``labels``, or ``labels[1]``."""
    return name if count == 1 else f"{name}[{index}]"


def check_type(who: str, option: str, value: Any, *kinds: type) -> None:
    """Refuse a value that is of none of these types."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise OptionError(
            f"{who}: {option} must be a {names}, got {type(value).__name__}."
        )


def check_one_of(who: str, option: str, value: T, allowed: Iterable[T]) -> T:
    """Refuse a value that is not among `allowed`; suggest the nearest name."""
    known = list(allowed)
    if value in known:
        return value
    names = ", ".join(sorted(repr(name) for name in known))
    raise OptionError(
        f"{who}: {option} must be one of {names}, got {value!r}."
        f"{did_you_mean(value, known)}"
    )


def normalised(name: str) -> str:
    """Return a name without case, ``_``, ``-`` and spaces."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def as_known(name: Any, known: Iterable[str]) -> Any:
    """Return the known name that `name` spells, or else `name` as it is."""
    if not isinstance(name, str):
        return name
    spelled = normalised(name)
    return next((one for one in known if normalised(one) == spelled), name)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or an empty string."""
    # A name without end takes difflib minutes, and is none that anybody meant.
    texts = [text for text in map(str, known) if len(text) <= _LONGEST_NAME]
    if len(str(name)) > _LONGEST_NAME:
        return ""
    folded = str(name).casefold()
    close = [text for text in texts if text.casefold() == folded]
    close = close or difflib.get_close_matches(str(name), texts, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def some(values: Iterable[Any], most: int = 5) -> str:
    """Return at most `most` values as text, then how many more there are."""
    items = list(values)
    shown = ", ".join(repr(item) for item in items[:most])
    more = len(items) - most
    return f"{shown} and {more} more" if more > 0 else shown
