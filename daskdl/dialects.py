"""Dialects: how a network computes where formulas and a predecessor's habits differ.

In ``exact``, the default, everything does what its formula and documentation say. Other
dialects have *quirks*: flags by name. Code asks ``"name of the quirk" in conf.quirks``
at the one place where it changes a number, and what follows is the habit; nobody else
knows of it. Packages bring dialects in the entry-point group ``daskdl.dialects``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from daskdl.checks import did_you_mean
from daskdl.entry_points import entry_points
from daskdl.errors import OptionError

EXACT = "exact"
# What all that reads files of Deeplearning4j sets.
DL4J = "dl4j-1.0.0-M2.1"

Quirks = frozenset[str]


@dataclass(frozen=True)
class Quirk:
    """A difference between a dialect's computation and its formula.

    Parameters
    ----------
    name : str
        What code asks for.
    where : str
        A layer, a loss, an option ... and under which circumstances.
    habit : str
        What the dialect does.
    exact : str
        What ``exact`` does.
    test : str
        The test that shows the difference, ``"folder/file.py"`` below ``tests/``.
    concerns : function of a mapping
        Whether a network is concerned, of its configuration as plain values with
        nothing left open; see :func:`daskdl.nn.conf.network.resolved`.
    data : str
        What examples must have for it to show, like masks; empty if it shows with any.
    family : str
        The heading that it stands under.
    """

    name: str
    where: str
    habit: str
    exact: str
    test: str
    concerns: Callable[[Mapping[str, Any]], bool]
    data: str = ""
    family: str = ""

    def __str__(self) -> str:
        """Return the difference in one line."""
        return f"{self.where}: {self.habit} (exact: {self.exact})"


@dataclass(frozen=True)
class Dialect:
    """A way to compute: a name, and its quirks.

    Parameters
    ----------
    name : str
    table : tuple of Quirk
    """

    name: str
    table: tuple[Quirk, ...] = ()

    @property
    def quirks(self) -> Quirks:
        """The names of the quirks."""
        return frozenset(quirk.name for quirk in self.table)


def known_dialects() -> list[str]:
    """Return the names of all dialects that are installed, ``exact`` first."""
    return [EXACT, *sorted(entry.name for entry in _installed())]


@cache
def dialect(name: str) -> Dialect:
    """Return the dialect of a name.

    Raises
    ------
    OptionError
        If there is none.
    """
    if name == EXACT:
        return Dialect(EXACT)
    for entry in _installed():
        if entry.name == name:
            table: Iterable[Quirk] = entry.load()
            return Dialect(name, tuple(table))
    known = known_dialects()
    raise OptionError(
        f"dialect must be one of {', '.join(known)}, got {name!r}."
        f"{did_you_mean(name, known)}"
    )


@cache
def quirks_of(name: str) -> Quirks:
    """Return the names of the quirks of a dialect.

    Raises
    ------
    OptionError
        If there is no such dialect.
    """
    return dialect(name).quirks


def _installed() -> Sequence[EntryPoint]:
    return entry_points("daskdl.dialects")
