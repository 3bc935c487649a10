"""Schedules of numbers that must not be negative: what they are made of must not be."""

from collections.abc import Iterator
from typing import Any

from daskdl.nn.conf.errors import PathError, got

# What a kind is worth, and factors of that: a negative factor changes the sign from
# count to count. Kinds of somebody's own are not here: nobody knows before training.
_NUMBERS = {
    "fixed": ("value",),
    "exponential": ("initial_value", "gamma"),
    "inverse": ("initial_value",),
    "poly": ("initial_value",),
    "sigmoid": ("initial_value",),
    "step": ("initial_value", "decay_rate"),
    "map": ("values",),
    "cycle": ("initial_learning_rate", "max_learning_rate", "annealing_decay"),
    "ramp": ("base",),
}


def refuse_negative(option: Any) -> Any:
    """Return a number or schedule as it is, or refuse one that goes below 0.

    Raises
    ------
    OptionError
        With the first negative number that the schedule is made of.
    """
    for path, number in _numbers(option):
        if number < 0:
            raise PathError(f"must not be negative here, got {got(number)}.", *path)
    return option


def _numbers(option: Any) -> Iterator[tuple[tuple[str | int, ...], float]]:
    """Yield the numbers in an option, and where they stand."""
    if isinstance(option, int | float):
        yield (), option
        return
    names = _NUMBERS.get(getattr(option, "type", ""), ())
    parts = {name: getattr(option, name) for name in names}
    for key, part in option.items() if isinstance(option, dict) else parts.items():
        yield from (((key, *path), number) for path, number in _numbers(part))
