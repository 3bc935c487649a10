"""Options of DL4J's builders that have no meaning here, and what takes their place."""

from collections.abc import Iterable, Mapping
from typing import Any

from daskdl.checks import as_known, did_you_mean
from daskdl.errors import OptionError

__all__ = ["refuse_others"]


def refuse_others(
    who: str,
    others: Mapping[str, Any],
    options: Iterable[str],
    elsewhere: Mapping[str, str],
) -> None:
    """Refuse options that there are not.

    Parameters
    ----------
    who : str
        The class, for messages.
    others : mapping of str to value
        What was given besides the options.
    options : iterable of str
        The names of those that there are.
    elsewhere : mapping of str to str
        DL4J's, in any spelling, and what to do instead.

    Raises
    ------
    OptionError
        For the first of them.
    """
    known = list(options)
    for name in others:
        instead = elsewhere.get(as_known(name, elsewhere))
        own = as_known(name, known)
        if own in known:
            instead = f"It is written {own!r}."
        hint = f" {instead}" if instead else did_you_mean(name, known)
        raise OptionError(
            f"{who}: options must be {', '.join(known)}, got {name!r}.{hint}"
        )
