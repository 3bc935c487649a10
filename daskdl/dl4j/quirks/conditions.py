"""Conditions of a quirk: which networks it concerns, asked of their plain values."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from daskdl.nn.conf.values import mappings_in

Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]

_NOTHING: tuple[Any, ...] = (None, 0, False, [], {}, "", "none")


def never(network: Mapping[str, Any]) -> bool:
    """Return False, the condition that no network meets."""
    return False


def has_type(*types: str) -> Condition:
    """Return whether a layer or vertex is of one of these types, wrapped ones too."""
    return has_option("type", *types)


def has_option(option: str, *values: Any, of: tuple[str, ...] = ()) -> Condition:
    """Return whether an option has one of these values, anywhere in the network.

    Parameters
    ----------
    option : str
    *values : value
        One with options of its own (an activation, a loss, an updater) goes by its
        type.
    of : tuple of str
        The types that it must stand in; all, if there are none.
    """

    def condition(network: Mapping[str, Any]) -> bool:
        return any(
            _named(part[option]) in values
            for part in _having(option, network)
            if not of or part.get("type") in of
        )

    return condition


def exceeds_one(option: str, *, of: tuple[str, ...]) -> Condition:
    """Return whether an option of a window, a number for each axis, is not 1."""

    def condition(network: Mapping[str, Any]) -> bool:
        return any(
            max(part[option]) > 1
            for part in _having(option, network)
            if part.get("type") in of
        )

    return condition


def sets_option(option: str, *, of: tuple[str, ...] = ()) -> Condition:
    """Return whether an option is neither None, 0, False nor empty somewhere.

    Parameters
    ----------
    option : str
    of : tuple of str
        The types that it must stand in; all, if there are none.
    """
    return option_holds(option, lambda value: value not in _NOTHING, of=of)


def has_dropout(*, of: tuple[str, ...]) -> Condition:
    """Return whether layers of some types drop their input."""
    drops = option_holds(
        "keep_probability", lambda value: value not in (None, 1), of=of
    )
    return any_of(sets_option("dropout", of=of), drops)


def option_holds(
    option: str, holds: Callable[[Any], bool], *, of: tuple[str, ...] = ()
) -> Condition:
    """Return whether an option somewhere in the network meets a condition.

    Parameters
    ----------
    option : str
    holds : function of the value
        What is to hold.
    of : tuple of str
        The types that it must stand in; all, if there are none.
    """

    def condition(network: Mapping[str, Any]) -> bool:
        return any(
            holds(part[option])
            for part in _having(option, network)
            if not of or part.get("type") in of
        )

    return condition


def has_activation(*names: str) -> Condition:
    """Return whether an activation has one of these names, with options or without."""
    options = ("activation", "gate_activation", "pzx_activation")
    return any_of(*(has_option(option, *names) for option in options))


def has_loss(*names: str) -> Condition:
    """Return whether a loss has one of these names, with options or without."""
    options = ("loss", "loss_position_scale", "loss_class_predictions")
    return any_of(*(has_option(option, *names) for option in options))


def all_of(*conditions: Condition) -> Condition:
    """Return whether all conditions hold, each somewhere."""
    return lambda network: all(condition(network) for condition in conditions)


def any_of(*conditions: Condition) -> Condition:
    """Return whether one of the conditions holds."""
    return lambda network: any(condition(network) for condition in conditions)


def _having(option: str, network: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (part for part in mappings_in(network) if option in part)


def _named(value: Any) -> Any:
    return value.get("type") if isinstance(value, Mapping) else value
