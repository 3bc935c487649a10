"""DL4J's own spelling of the front ends' methods, for programs that come from there."""

from typing import TypeVar

T = TypeVar("T", bound=type)


def camel_case(name: str) -> str:
    """Return ``feedForwardWithKey`` for ``feed_forward_with_key``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def answers_to_camel_case(cls: T) -> T:
    """Give every public method of `cls` its camelCase name as well."""
    for name in public_methods(cls):
        if (other := camel_case(name)) != name:
            setattr(cls, other, getattr(cls, name))
    return cls


def public_methods(cls: type) -> list[str]:
    """Return the names of the methods that `cls` and its bases define in snake_case."""
    return [
        name
        for name in dir(cls)
        if not name.startswith("_")
        and name == name.lower()
        and callable(getattr(cls, name))
    ]
