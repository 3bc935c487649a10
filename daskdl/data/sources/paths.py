"""Path arguments: one, or several."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from daskdl.checks import some
from daskdl.errors import OptionError

__all__ = ["listed_paths"]


def listed_paths(who: str, paths: Any) -> list[str]:
    """Return paths as a list; a single one is a list of one, an RDD all of its own.

    Parameters
    ----------
    who : str
        For messages.
    paths : str, path, or iterable of them
        A text is one path and not a list of letters.

    Raises
    ------
    OptionError
        If they are none, or there are none.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    elif hasattr(paths, "toLocalIterator"):
        # An RDD, or a DataFrame whose rows are no paths.
        paths = paths.toLocalIterator()
    is_several = isinstance(paths, Iterable) and not isinstance(
        paths, Mapping | bytes | bytearray
    )
    items = list(paths) if is_several else []
    others = [item for item in items if not isinstance(item, str | os.PathLike)]
    if not is_several or others or not items:
        got = type(paths).__name__
        if is_several:
            kinds = some(sorted({type(item).__name__ for item in others}))
            got = f"{got} of {kinds}" if kinds else f"an empty {got}"
        raise OptionError(
            f"{who}: paths must be a path or several, got {got}. A DataFrame or "
            "an RDD of examples is for fit."
        )
    return [os.fspath(item) for item in items]
