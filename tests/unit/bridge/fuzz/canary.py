"""What pickles of fuzzing name: it tells if it was called or made."""

from typing import Any, NamedTuple

__all__ = ["Allowed", "Tripping", "trip", "tripped"]

_TRIPPED: list[str] = []


class Allowed(NamedTuple):
    """What the option `allow` names, and nothing else here."""

    x: Any = 0.0
    y: Any = 0.0


def trip(*_: Any, **__: Any) -> list[float]:
    _TRIPPED.append("trip was called")
    return [0.0]


class Tripping:
    def __new__(cls, *_: Any, **__: Any) -> "Tripping":
        _TRIPPED.append("Tripping was made")
        return super().__new__(cls)

    def __setstate__(self, state: Any) -> None:
        _TRIPPED.append("Tripping was given a state")


def tripped() -> list[str]:
    """Return what was run since the last time."""
    found = _TRIPPED.copy()
    _TRIPPED.clear()
    return found
