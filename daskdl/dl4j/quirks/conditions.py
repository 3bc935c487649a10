"""Which networks a quirk concerns, asked of a configuration as plain values."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from daskdl.nn.conf.values import mappings_in

Concerns: TypeAlias = Callable[[Mapping[str, Any]], bool]

_NOTHING: tuple[Any, ...] = (None, 0, False, [], {}, "", "none")


def nothing(network: Mapping[str, Any]) -> bool:
    """Return False: no network is concerned."""
    return False


def kinds(*types: str) -> Concerns:
    """Return whether a layer or vertex is of one of these types, wrapped ones too."""
    return said("type", *types)


def said(option: str, *values: Any, of: tuple[str, ...] = ()) -> Concerns:
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

    def concerns(network: Mapping[str, Any]) -> bool:
        return any(
            _named(part[option]) in values
            for part in _having(option, network)
            if not of or part.get("type") in of
        )

    return concerns


def beyond_one(option: str, *, of: tuple[str, ...]) -> Concerns:
    """Return whether an option of a window, a number for each axis, is not 1."""

    def concerns(network: Mapping[str, Any]) -> bool:
        return any(
            max(part[option]) > 1
            for part in _having(option, network)
            if part.get("type") in of
        )

    return concerns


def given(option: str, *, of: tuple[str, ...] = ()) -> Concerns:
    """Return whether an option is neither None, 0, False nor empty somewhere.

    Parameters
    ----------
    option : str
    of : tuple of str
        The types that it must stand in; all, if there are none.
    """
    return found(option, lambda value: value not in _NOTHING, of=of)


def dropping(*, of: tuple[str, ...]) -> Concerns:
    """Return whether layers of some types drop their input."""
    drops = found("keep_probability", lambda value: value not in (None, 1), of=of)
    return either(given("dropout", of=of), drops)


def found(
    option: str, holds: Callable[[Any], bool], *, of: tuple[str, ...] = ()
) -> Concerns:
    """Return whether something holds of an option somewhere.

    Parameters
    ----------
    option : str
    holds : function of the value
        What is to hold.
    of : tuple of str
        The types that it must stand in; all, if there are none.
    """

    def concerns(network: Mapping[str, Any]) -> bool:
        return any(
            holds(part[option])
            for part in _having(option, network)
            if not of or part.get("type") in of
        )

    return concerns


def activated(*names: str) -> Concerns:
    """Return whether an activation has one of these names, with options or without."""
    options = ("activation", "gate_activation", "pzx_activation")
    return either(*(said(option, *names) for option in options))


def losing(*names: str) -> Concerns:
    """Return whether a loss has one of these names, with options or without."""
    options = ("loss", "loss_position_scale", "loss_class_predictions")
    return either(*(said(option, *names) for option in options))


def both(*conditions: Concerns) -> Concerns:
    """Return whether all conditions hold, each somewhere."""
    return lambda network: all(condition(network) for condition in conditions)


def either(*conditions: Concerns) -> Concerns:
    """Return whether one of the conditions holds."""
    return lambda network: any(condition(network) for condition in conditions)


def _having(option: str, network: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (part for part in mappings_in(network) if option in part)


def _named(value: Any) -> Any:
    return value.get("type") if isinstance(value, Mapping) else value
