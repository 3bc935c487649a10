"""The messages of a tree of members: sums on their way up, and what all know, down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How far a member is, as its messages tell.

    Attributes
    ----------
    messages : int
        How many of its messages there are.
    position : int
        Minibatches that it had trained at the last of them.
    ends : bool
        Whether that was its last one of the phase.
    step_s : float
        Seconds that it takes for a minibatch; 0 if it does not say.
    """

    messages: int = 0
    position: int = 0
    ends: bool = False
    step_s: float = 0.0


Marks = Mapping[int, Mark]


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """A sum of updates on its way up.

    Attributes
    ----------
    before : mapping of rank to int
        How many messages of each member came earlier.
    marks : mapping of rank to Mark
        The last one in the sum, of each member.
    update : object
        Their sum; what it is the replica knows.
    is_again : bool
        Whether it went up before, to a parent that is gone.
    """

    before: Mapping[int, int]
    marks: Marks
    update: Any
    is_again: bool = False


@dataclass(frozen=True, kw_only=True)
class Passed:
    """The next sum that all members take in, on its way down.

    Attributes
    ----------
    reign, number : int
        Of the root that made it, and its number there.
    marks : mapping of rank to Mark
        What is in the base then, of each member.
    is_last : bool
        Whether the phase is over with it.
    update : object or None
        The sum; None if there is only an end to tell.
    """

    reign: int
    number: int
    marks: Marks
    is_last: bool
    update: Any


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All that came down so far, for who missed some: the base itself.

    Attributes
    ----------
    reign, number, marks, is_last
        As of the last :class:`Passed` that is in it.
    base : object
        What the replica gave for it.
    """

    reign: int
    number: int
    marks: Marks
    is_last: bool
    base: Any


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a member stands: for a new parent, a new root, and who shall send more.

    Attributes
    ----------
    reign, number : int
        Of the last :class:`Passed` that it took in.
    root : int
        Who the root is, as far as it knows.
    gone : frozenset of int
        Members that it knows to be gone.
    """

    reign: int
    number: int
    root: int
    gone: frozenset[int]


TreeMessage = Gathered | Passed | Whole | Standing


@dataclass(frozen=True)
class InPhase:
    """A message as it travels, with the phase that it belongs to."""

    phase: int
    message: TreeMessage


class Replica(Protocol):
    """What the tree asks of a replica; updates may be of any form that it knows.

    Its parameters are the base, less its own updates that are not in the base yet.
    """

    def sum(self, updates: Sequence[Any]) -> Any:
        """Return one update for several; nothing may be lost."""

    def take_in(self, update: Any, own: Sequence[Any]) -> None:
        """Subtract an update from the base; `own` are parts of it, and known."""

    def base(self, untold: Sequence[Any]) -> Any:
        """Return the base; `untold` are own updates that are not in it."""

    def replace_base(self, base: Any, untold: Sequence[Any]) -> None:
        """Go on from another base, which `untold` are not in."""


def joined(gathered: Sequence[Gathered], replica: Replica) -> Gathered:
    """Return several messages as one, in the order in which they came."""
    before: dict[int, int] = {}
    marks: dict[int, Mark] = {}
    for message in gathered:
        before = {**message.before, **before}
        marks.update(message.marks)
    updates = [message.update for message in gathered if message.update is not None]
    update = replica.sum(updates) if updates else None
    return Gathered(before=before, marks=marks, update=update)
