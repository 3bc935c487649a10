"""What a check of ``daskdl doctor`` found."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Finding"]

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    what, found : str
        What it is and how it is. No two findings have the same `what`.
    is_ok : bool
        Whether it is as it should be.
    to_do : str
        How to get it, if it is not.
    is_needed : bool
        Whether what was asked for fails without it.
    """

    what: str
    found: str
    is_ok: bool = True
    to_do: str = ""
    is_needed: bool = True

    @property
    def is_failure(self) -> bool:
        """Whether daskdl cannot work like this."""
        return self.level == "error"

    @property
    def level(self) -> str:
        """``ok``, ``warning``, or ``error`` where it is needed."""
        if self.is_ok:
            return "ok"
        return "error" if self.is_needed else "warning"

    @property
    def sign(self) -> str:
        """A mark for the first column."""
        return f"[{_COLOURS[self.level]}]{self.level}[/]"

    def as_json(self) -> dict[str, Any]:
        """Return what programs are told."""
        told = {"ok": self.is_ok, "level": self.level, "found": self.found}
        return told if self.is_ok else {**told, "to_do": self.to_do}
