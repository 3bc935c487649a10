"""Adding up the vectors of several members: each adds up a slice, and all gather them.

Pure: a message comes in, messages go out. Every member owns a slice of the vectors. It
gets that slice from all others, adds up in rank order, and sends the sum to all, which
copy it: so all hold the same bits, those of a plain sum, and each sends less than twice
the vectors however many members there are. Small vectors, and those of two members, go
to all as they are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from daskdl.arrays.namespace import FloatArray

# A sum begins while later chunks are on their way; two fill a window of the bus.
CHUNK_BYTES = 2 * 2**20
# Below it messages cost more than bytes.
PLAIN_BELOW_BYTES = 64 * 2**10

Combine: TypeAlias = Callable[[Sequence[FloatArray], Sequence[int], FloatArray], None]
"""Overwrites the last one, (n,), by what vectors of several members, in rank order and
each with its examples, come to; element by element, as they are cut anywhere."""


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What a member tells of what it brings.

    Attributes
    ----------
    position : int
        How many minibatches of the phase the sender has trained.
    remaining : int
        How many it still has to train in this phase.
    may_get_more : bool
        Whether more may come.
    wants_stop : bool
        Whether the phase is to end here, with all that remains for a later one.
    minibatches : int
        How many it trained for this round.
    seconds : float
        How long that took, without waiting for others.
    examples : int
        The weight of its vectors; with 0 they are left out.
    iteration_count : int
        The sender's iteration counter.
    threshold : float or None
        In gradient sharing, where the sender's threshold stands.
    """

    position: int = 0
    remaining: int = 0
    may_get_more: bool = False
    wants_stop: bool = False
    minibatches: int = 0
    seconds: float = 0.0
    examples: int = 1
    iteration_count: int = 0
    threshold: float | None = None


@dataclass(frozen=True)
class Chunk:
    """A stretch of one of the vectors, which one member adds up."""

    owner: int
    vector: int
    start: int
    stop: int

    @property
    def part(self) -> slice:
        """Where it lies in its vector."""
        return slice(self.start, self.stop)


@dataclass(frozen=True)
class Message:
    """What a member sends while vectors are added up; `to` None is to all others.

    Attributes
    ----------
    what : {'contribution', 'part', 'sum', 'complete', 'over'}
        What is brought, with the vectors where they go to all; a chunk for its owner;
        a chunk that its owner has added up. And in rounds: that the sender has all
        chunks; that it has ended the phase.
    """

    what: str
    to: int | None = None
    chunk: int | None = None
    values: Any = None
    contribution: Contribution | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        if self.values is None:
            return 0
        vectors = self.values if isinstance(self.values, list) else [self.values]
        return sum(int(vector.nbytes) for vector in vectors)


@dataclass(frozen=True)
class Total:
    """What members brought, and what that comes to.

    Attributes
    ----------
    contributions : dict of int to Contribution
        By rank.
    vectors : list of ndarray of shape (n,), or None
        One for each that was brought, or these themselves, overwritten; None if all
        stay as they were, as nobody or only one was there to bring something.
    """

    contributions: dict[int, Contribution] = field(default_factory=dict)
    vectors: list[FloatArray] | None = None

    @property
    def examples(self) -> int:
        """Over how many examples all have brought something."""
        return sum(item.examples for item in self.contributions.values())

    @property
    def is_last(self) -> bool:
        """Whether nobody had anything left, so that the phase is over.

        Also of those that are gone since: whoever is left decides the same.
        """
        told = self.contributions.values()
        return not any(item.remaining or item.may_get_more for item in told)


def cut_chunks(
    sizes: Sequence[int], itemsize: int, members: Sequence[int]
) -> list[Chunk]:
    """Cut vectors into one slice for each member, and slices into chunks.

    Parameters
    ----------
    sizes : sequence of int
        Elements of each vector; slices are those of one behind the other.
    itemsize : int
        Bytes of an element.
    members : sequence of int
        Ranks, in the order of the slices.
    """
    total, most = sum(sizes), max(1, CHUNK_BYTES // itemsize)
    begins = [sum(sizes[:count]) for count in range(len(sizes))]
    chunks = []
    for place, owner in enumerate(members):
        first = total * place // len(members)
        last = total * (place + 1) // len(members)
        for vector, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
            start, stop = max(first - begin, 0), min(last - begin, size)
            chunks += [
                Chunk(owner, vector, at, min(at + most, stop))
                for at in range(start, stop, most)
            ]
    return chunks


class DenseSum:
    """One attempt of certain members to add up what they bring.

    Parameters
    ----------
    rank : int
        Ours.
    members : sequence of int
        Ranks of all that take part, sorted.
    own : Contribution
        What we bring.
    vectors : sequence of ndarray of shape (n,)
        The vectors; of the same sizes for all. They must stay as they are.
    combine : Combine
        What they come to.
    """

    def __init__(
        self,
        rank: int,
        members: Sequence[int],
        own: Contribution,
        vectors: Sequence[FloatArray],
        combine: Combine,
    ) -> None:
        self._rank = rank
        self._members = members
        self._own = own
        self._vectors = list(vectors)
        self._combine = combine
        nbytes = sum(vector.nbytes for vector in self._vectors)
        is_small = not nbytes or nbytes < PLAIN_BELOW_BYTES
        self._is_plain = len(members) <= 2 or is_small
        self._chunks = self._cut()
        self._contributions = {rank: own}
        self._parts: dict[int, dict[int, FloatArray]] = {}
        self._total = [np.empty_like(vector) for vector in self._vectors]
        self._unknown = set(range(len(self._chunks)))

    def overwrite(self) -> None:
        """Let two members' vectors become what they come to, which is not begun.

        From now on nobody may be sent ours.
        """
        self._total = self._vectors

    @property
    def is_complete(self) -> bool:
        """Whether all is added up, or nothing is to be."""
        return not self.waiting_for

    @property
    def waiting_for(self) -> frozenset[int]:
        """Members of which something has not come."""
        silent = frozenset(self._members) - self._contributions.keys()
        if silent or not self._changes:
            return silent
        missing: set[int] = set()
        for number in self._unknown:
            chunk = self._chunks[number]
            if self._adds_up(chunk):
                missing |= set(self._bringing) - self._parts.get(number, {}).keys()
            else:
                missing.add(chunk.owner)
        return frozenset(missing)

    @property
    def total(self) -> Total:
        """What it came to; right when it is complete."""
        vectors = self._total if self._changes else None
        return Total(dict(self._contributions), vectors)

    def contribution(self, *, with_vectors: bool) -> Message:
        """Return the message that says what we bring.

        Parameters
        ----------
        with_vectors : bool
            Whether what goes to all goes along.
        """
        goes_along = with_vectors and self._is_plain and self._own.examples > 0
        values = list(self._vectors) if goes_along and len(self._members) > 1 else None
        return Message("contribution", contribution=self._own, values=values)

    def bring(self) -> list[Message]:
        """Take our own part in; return the messages with the parts of others."""
        if self._own.examples == 0 or len(self._members) == 1:
            return []
        for number in range(len(self._chunks)):
            self._note_part(self._rank, number, self._values(number))
        if self._is_plain:
            return []
        return [
            Message("part", self._chunks[number].owner, number, self._values(number))
            for number in self._in_turn()
        ]

    def receive(self, rank: int, message: Message) -> None:
        """Take a message in; a second one of the same kind changes nothing."""
        if message.what == "contribution" and message.contribution is not None:
            self._contributions.setdefault(rank, message.contribution)
            for vector, values in enumerate(message.values or ()):
                self._note_part(rank, vector, values)
        elif message.chunk is not None and message.what == "part":
            self._note_part(rank, message.chunk, message.values)
        elif message.chunk in self._unknown:
            chunk = self._chunks[message.chunk]
            self._total[chunk.vector][chunk.part] = message.values
            self._unknown.discard(message.chunk)

    def add_up(self) -> Iterator[Message]:
        """Add up what can be, and yield the messages that tell of it."""
        if self._contributions.keys() != set(self._members) or not self._changes:
            return
        brought = self._bringing
        for number in sorted(self._unknown):
            chunk = self._chunks[number]
            parts = self._parts.get(number, {})
            if not self._adds_up(chunk) or not parts.keys() >= set(brought):
                continue
            examples = [self._contributions[rank].examples for rank in brought]
            total = self._total[chunk.vector][chunk.part]
            self._combine([parts[rank] for rank in brought], examples, total)
            self._unknown.discard(number)
            self._parts.pop(number)
            if not self._is_plain:
                yield Message("sum", None, number, total)

    @property
    def _bringing(self) -> list[int]:
        contributions = sorted(self._contributions.items())
        return [rank for rank, brought in contributions if brought.examples > 0]

    @property
    def _changes(self) -> bool:
        return len(self._members) > 1 and bool(self._bringing)

    def _cut(self) -> list[Chunk]:
        sizes = [vector.size for vector in self._vectors]
        if self._is_plain:
            return [Chunk(self._rank, at, 0, size) for at, size in enumerate(sizes)]
        return cut_chunks(sizes, self._vectors[0].itemsize, self._members)

    def _in_turn(self) -> list[int]:
        """Return the numbers of others' chunks: one for each, then the next ones.

        So that all can begin; and not each member with the same one.
        """
        told: dict[int, int] = {}
        order = []
        for number, chunk in enumerate(self._chunks):
            place = told[chunk.owner] = told.get(chunk.owner, -1) + 1
            if chunk.owner != self._rank:
                order.append((place, chunk.owner < self._rank, chunk.owner, number))
        return [number for *_, number in sorted(order)]

    def _adds_up(self, chunk: Chunk) -> bool:
        return chunk.owner == self._rank

    def _values(self, number: int) -> FloatArray:
        chunk = self._chunks[number]
        values: FloatArray = self._vectors[chunk.vector][chunk.part]
        return values

    def _note_part(self, rank: int, number: int, values: Any) -> None:
        if self._adds_up(self._chunks[number]):
            self._parts.setdefault(number, {}).setdefault(rank, values)
