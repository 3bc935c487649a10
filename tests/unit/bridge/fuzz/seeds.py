"""What fuzzing begins with: small whole files, and how they are made of pieces."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzzing import damaged

__all__ = ["Seed", "joined", "of_file"]


def joined(pieces: Sequence[bytes]) -> bytes:
    return b"".join(pieces)


@dataclass(frozen=True)
class Seed:
    """A file that its reader reads.

    Parameters
    ----------
    name : str
        Of the file; from its directory on, where it is in one.
    pieces : tuple of bytes
        What it is made of, in front of compression and checksums.
    options : tuple of dict
        Of SourceOptions; one of them at a time.
    build : callable
        Makes the file of the pieces.
    beside : dict of str to bytes
        Files that stand in the same directory.
    """

    name: str
    pieces: tuple[bytes, ...]
    options: tuple[Mapping[str, Any], ...]
    build: Callable[[Sequence[bytes]], bytes] = joined
    beside: Mapping[str, bytes] = field(default_factory=dict)

    def whole(self) -> bytes:
        return self.build(self.pieces)

    def damaged(self, random: Random) -> bytes:
        """Return the file with damage to its pieces, or to the whole, or to both."""
        pieces = list(self.pieces)
        where = random.choice(("pieces", "pieces", "whole", "both"))
        if where != "whole":
            at = random.randrange(len(pieces))
            pieces[at] = damaged(pieces[at], random, self.pieces)
        made = self.build(pieces)
        return made if where == "pieces" else damaged(made, random, self.pieces)


def of_file(path: Path, *options: Mapping[str, Any], name: str = "") -> Seed:
    return Seed(name or path.name, (path.read_bytes(),), options)
