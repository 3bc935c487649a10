"""Where two configurations differ, as a message is to name it."""

from typing import Any

__all__ = ["first_difference"]


def first_difference(where: str, before: Any, now: Any) -> tuple[str, Any, Any] | None:
    """Return where two plain values differ first, and how.

    Parameters
    ----------
    where : str
        What they are called.
    before, now : dict, list, or other plain values

    Returns
    -------
    (str, object, object) or None
        What differs, in dots below `where`, and both values of it.
    """
    if before == now:
        return None
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*before, *(key for key in now if key not in before)]:
            if found := first_difference(
                f"{where}.{key}", before.get(key), now.get(key)
            ):
                return found
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, pair in enumerate(zip(before, now, strict=True)):
            if found := first_difference(f"{where}[{index}]", *pair):
                return found
    return where, before, now
