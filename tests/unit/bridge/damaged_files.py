"""Copies of files with damage: bytes that flipped, numbers that lie, an early end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from daskdl.errors import DataError
from tests.unit.bridge.table_files import open_path

LARGE = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0")


def damaged_copies(data: bytes, rng: np.random.Generator, n: int) -> Iterator[bytes]:
    """Yield copies with one to four damaged places, every third cut short."""
    for number in range(n):
        copy = bytearray(data)
        for _ in range(int(rng.integers(1, 5))):
            at = int(rng.integers(len(copy)))
            if rng.random() < 0.2:
                copy[at : at + 4] = LARGE[int(rng.integers(len(LARGE)))]
            else:
                copy[at] = int(rng.integers(256))
        if number % 3 == 0:
            del copy[int(rng.integers(len(copy))) :]
        yield bytes(copy)


def check_refused_or_read(path: Path, data: bytes, **options: Any) -> None:
    """Fail if a file is refused with an error that is not ours or names no file."""
    path.write_bytes(data)
    told = None
    try:
        for partition in open_path(str(path), **options).partitions:
            partition.load()
    except DataError as error:
        told = str(error)
    assert told is None or path.name in told
