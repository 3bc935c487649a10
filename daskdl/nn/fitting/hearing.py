"""Who hears of a fit: the user's listeners, and one that tells how far it is."""

import sys
from collections.abc import Iterable

from daskdl.nn.fitting.listener import Listener, listeners_of
from daskdl.nn.fitting.minute_progress import MinuteProgress, is_heard
from daskdl.nn.fitting.progress import ProgressLine

__all__ = ["hearing_of"]


def hearing_of(who: str, given: Listener | Iterable[Listener] | None) -> list[Listener]:
    """Return the listeners of a fit, and one that tells how far it is.

    A line that is written over, at a prompt or in a notebook; else one a minute in the
    log, where that is heard. An empty list is for nobody and no line; a listener may
    show it itself.

    Raises
    ------
    OptionError
        If what is given is no listener.
    """
    hearing = listeners_of(who, () if given is None else given)
    if given is not None and not hearing:
        return []
    if any(one.shows_progress for one in hearing):
        return hearing
    # Last, to show what the others reported.
    if _is_interactive():
        return [*hearing, ProgressLine()]
    return [*hearing, MinuteProgress()] if is_heard() else hearing


def _is_interactive() -> bool:
    # A prompt sets it; a notebook runs a kernel.
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules
