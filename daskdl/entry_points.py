"""What installed packages bring, by entry points.

Rooms of the house that may know each other in one direction only find each other this
way, and packages of others do.
"""

import importlib.metadata
from functools import cache
from typing import Any

__all__ = ["entry_points"]


# Once: to look through all that is installed takes longer than to write a file.
@cache
def entry_points(
    group: str, name: str | None = None
) -> tuple[importlib.metadata.EntryPoint, ...]:
    """Return the entry points of a group, as they were when the process first asked.

    Parameters
    ----------
    group : str
        Such as ``daskdl.formats``.
    name : str, optional
        Those of that name only.
    """
    named = {} if name is None else {"name": name}
    return tuple(_installed().select(group=group, **named))


@cache
def _installed() -> Any:
    return importlib.metadata.entry_points()
