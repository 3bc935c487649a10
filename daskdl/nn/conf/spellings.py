"""In which spellings a name or a value may be written, for loaders and for schemas."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daskdl.checks import normalised

_BETWEEN = "[-_ ]*"


# Compared by identity: types that hold one are hashed, and schemas cannot be.
@dataclass(frozen=True, eq=False)
class Taking:
    """A validator in front of another, and what it takes besides, as JSON schema.

    Parameters
    ----------
    find : function
        Takes what a user wrote and returns what the inner validator takes.
    also : tuple of mappings
        JSON schemas of what `find` takes and the inner validator does not.
    one_for_many : bool
        Whether it takes one item in place of a list of them, too.
    """

    find: Callable[[Any], Any]
    also: tuple[Mapping[str, Any], ...] = ()
    one_for_many: bool = False

    def __call__(self, value: Any) -> Any:
        """Return what the inner validator takes."""
        return self.find(value)


def spelled(names: Iterable[str], *, endings: Iterable[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of text that spells one of the names.

    Those are the texts that :func:`~daskdl.checks.normalised` makes alike.

    Parameters
    ----------
    names : iterable of str
        The names.
    endings : iterable of str
        Each name may end in one of them, too.
    """
    known = sorted({normalised(name) for name in names})
    pattern = f"(?:{'|'.join(map(_in_any_case, known))})"
    ends = "|".join(map(_in_any_case, map(normalised, endings)))
    if ends:
        pattern += f"(?:{_BETWEEN}(?:{ends}))?"
    return {"type": "string", "pattern": f"^{_BETWEEN}{pattern}{_BETWEEN}$"}


def _in_any_case(name: str) -> str:
    return _BETWEEN.join(
        f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in name
    )
