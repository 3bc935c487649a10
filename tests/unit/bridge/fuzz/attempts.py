"""An attempt of fuzzing: a damaged file, opened and read as users do."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DaskdlError
from daskdl_bridge.readers import (
    csv_numbers,
    line_ranges,
    scanned_stream,
    table_partitions,
)
from daskdl_bridge.readers.pickles import load_pickle
from daskdl_bridge.source import PathSources
from tests.fuzzing import damaged
from tests.unit.bridge.fuzz.avro_seeds import avro_seeds
from tests.unit.bridge.fuzz.canary import tripped
from tests.unit.bridge.fuzz.hostile_pickles import hostile_pickle, odd_pickle
from tests.unit.bridge.fuzz.pickle_seeds import pickle_file, pickle_seeds
from tests.unit.bridge.fuzz.seeds import Seed
from tests.unit.bridge.fuzz.sequence_seeds import sequence_seeds
from tests.unit.bridge.fuzz.text_seeds import (
    csv_seeds,
    json_seeds,
    libsvm_seeds,
    xml_seeds,
)
from tests.unit.bridge.fuzz.tfrecord_seeds import tfrecord_seeds

__all__ = [
    "SEEDS",
    "Attempt",
    "attempt_of",
    "read_or_refuse",
    "read_saved",
    "rows_of",
    "saved_attempt",
]

SEEDS: Mapping[str, Callable[[], list[Seed]]] = {
    "avro": avro_seeds,
    "csv": csv_seeds,
    "json": json_seeds,
    "libsvm": libsvm_seeds,
    "pickle": pickle_seeds,
    "sequence": sequence_seeds,
    "tfrecord": tfrecord_seeds,
    "xml": xml_seeds,
}
"""Name of a reader to what makes its seeds."""

# What constants say how files are cut and read, for small files.
_CUT = (
    (line_ranges, "_RANGE_BYTES"),
    # What is this short is read as long text is.
    (csv_numbers, "_FEWEST_BYTES"),
    (table_partitions, "_SPAN_BYTES"),
    (scanned_stream, "_PIECE_BYTES"),
)


# Of what odd pickles hold, whatever seed they stand in.
_ODD_COLUMNS = tuple(
    {"features": features, "key": key, "require_labels": False}
    for features in ("_c0", "_c1", "_c2")
    for key in ("_c0", "_c1")
)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is read, and how.

    Parameters
    ----------
    files : dict of str to bytes
        The first is what is damaged.
    options : dict
        Of SourceOptions.
    how : {"open", "look", "pickle"}
        The source, its summary, or only the reader of one pickle.
    range_bytes : int or None
        Where files are cut; None leaves it.
    """

    files: Mapping[str, bytes]
    options: Mapping[str, Any]
    how: str = "open"
    range_bytes: int | None = None

    def save(self, folder: Path) -> None:
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        kept = {"names": [*self.files], "options": dict(self.options)}
        kept |= {"how": self.how, "range_bytes": self.range_bytes}
        (folder / "attempt.json").write_text(json.dumps(kept))


def saved_attempt(folder: Path) -> Attempt:
    kept = json.loads((folder / "attempt.json").read_text())
    files = {name: (folder / name).read_bytes() for name in kept.pop("names")}
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in kept.pop("options").items()
    }
    return Attempt(files=files, options=options, **kept)


def attempt_of(seed: Seed, random: Random) -> Attempt:
    """Return an attempt with a damaged copy of a seed."""
    options = random.choice(seed.options)
    if seed.build is pickle_file and random.random() < 0.75:
        return _attempt_of_pickles(seed, options, random)
    data = seed.damaged(random)
    cut = random.choice((None, None, 1 + len(data) // 3, 1 + len(data) // 20))
    how = "look" if random.random() < 0.1 else "open"
    files = {seed.name: data, **seed.beside}
    return Attempt(files=files, options=options, how=how, range_bytes=cut)


def _attempt_of_pickles(
    seed: Seed, options: Mapping[str, Any], random: Random
) -> Attempt:
    pickles = list(seed.pieces)
    at = random.randrange(len(pickles))
    kind = random.choice(("damaged", "hostile", "odd"))
    if kind == "odd":
        pickles[at], options = odd_pickle(random), random.choice(_ODD_COLUMNS)
    elif kind == "hostile":
        pickles[at] = hostile_pickle(random)
    if kind == "damaged" or random.random() < 0.3:
        pickles[at] = damaged(pickles[at], random, seed.pieces)
    if random.random() < 0.5:
        allow = {"allow": options["allow"]} if "allow" in options else {}
        return Attempt(files={seed.name: pickles[at]}, options=allow, how="pickle")
    return Attempt(files={seed.name: pickle_file(pickles)}, options=options)


def read_or_refuse(attempt: Attempt, folder: Path) -> None:
    """Save an attempt in a folder, and read it there; see `read_saved`."""
    attempt.save(folder)
    read_saved(attempt, folder)


def read_saved(attempt: Attempt, folder: Path) -> None:
    """Read all that the file in a folder makes, or take daskdl's refusal.

    Raises
    ------
    AssertionError
        If the refusal names no file, or what a pickle names was run.
    Exception
        Any that is not one of daskdl's.
    """
    name = next(iter(attempt.files))
    try:
        with _cut_at(attempt.range_bytes):
            _read(attempt, str(folder / name))
    except DaskdlError as error:
        # What cannot be encoded cannot be printed.
        told = str(error).encode().decode()
        assert Path(name).name in told, f"names no file: {told}"
    found = tripped()
    assert not found, found


def _read(attempt: Attempt, path: str) -> None:
    if attempt.how == "pickle":
        (data,) = attempt.files.values()
        load_pickle(data, path, attempt.options.get("allow", ()))
        return
    if attempt.how == "look":
        PathSources().look(path, SourceOptions(**attempt.options))
        return
    rows_of(attempt, path)


def rows_of(attempt: Attempt, path: str) -> int:
    """Return how many rows a file makes."""
    options = SourceOptions(**attempt.options)
    return sum(
        block.num_examples
        for partition in open_source(path, options).partitions
        for block in partition.load_blocks()
    )


@contextmanager
def _cut_at(range_bytes: int | None) -> Iterator[None]:
    with ExitStack() as stack:
        for module, constant in _CUT if range_bytes else ():
            stack.enter_context(mock.patch.object(module, constant, range_bytes))
        yield
