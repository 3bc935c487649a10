"""Files of lines read by ranges of a few bytes, to be held against those read whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from daskdl.errors import DataError
from daskdl_bridge.readers import line_ranges, lines
from tests.unit.bridge.table_files import open_path

WHOLE = 1 << 60


@contextmanager
def ranges_of_bytes(n_bytes: int) -> Iterator[None]:
    """Let ranges have at most that many bytes, and all reads beside them fewer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_ranges, "_RANGE_BYTES", n_bytes)
        patch.setattr(line_ranges, "_PIECE_BYTES", max(1, n_bytes // 2))
        patch.setattr(lines, "_STEP_BYTES", 3)
        yield


def found_in(data: Any, n_bytes: int, **options: Any) -> tuple[list[Any], list[str]]:
    """Return the rows of all partitions, and what those say that cannot be loaded."""
    rows: list[Any] = []
    errors: list[str] = []
    for of_file in found_by_file(data, n_bytes, **options).values():
        rows += of_file[0]
        errors += of_file[1]
    return rows, errors


def check_alike(data: Any, n_bytes: int, **options: Any) -> int:
    """Fail unless ranges of each file give its rows, or also say what the whole says.

    Returns the number of files whose rows were found.
    """
    files = found_by_file(data, WHOLE, **options)
    ranged = found_by_file(data, n_bytes, **options)
    for url, (rows, errors) in files.items():
        assert set(errors) <= set(ranged[url][1])
        assert bool(errors) == bool(ranged[url][1])
        assert errors or rows == ranged[url][0]
    return sum(1 for _, errors in files.values() if not errors)


def found_by_file(
    data: Any, n_bytes: int, **options: Any
) -> dict[str, tuple[list[Any], list[str]]]:
    found: dict[str, tuple[list[Any], list[str]]] = {}
    with ranges_of_bytes(n_bytes):
        try:
            partitions = open_path(data, **options).partitions
        except DataError as error:
            return {"": ([], [in_words(error)])}
        for partition in partitions:
            rows, errors = found.setdefault(partition.part.url, ([], []))
            loaded = rows_or_error(partition)
            if isinstance(loaded, str):
                errors.append(loaded)
            else:
                rows += loaded
    return found


def rows_or_error(partition: Any) -> list[Any] | str:
    try:
        batch = partition.load()
    except DataError as error:
        return in_words(error)
    labels = batch.features if batch.labels is None else batch.labels
    keys = [None] * batch.num_examples if batch.keys is None else batch.keys.tolist()
    return list(zip(batch.features.tolist(), labels.tolist(), keys, strict=True))


def in_words(error: DataError) -> str:
    return f"{type(error).__name__} {error}"
