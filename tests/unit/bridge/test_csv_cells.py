"""Cells of nasty CSV files are what Spark reads, or the file is refused.

The expected cells were written by ``tests/spark/csv_oracle.py``; Spark 3.5.9 and 4.3.0
read the same.
"""

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError
from tests.unit.bridge.csv_strings import OPTIONS

GOLDEN = Path(__file__).parents[2] / "data" / "spark" / "csv_cells.json"
CASES = json.loads(GOLDEN.read_text())


@pytest.fixture(autouse=True)
def few_objects() -> Iterator[None]:
    """Hide what other tests left: old PyArrow looks through all of it for each file."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def read(folder, files, options):
    """Return the rows of each file of three columns, None where it is refused.

    The middle one holds numbers; the others come as keys.
    """
    # The first file tells the number of columns.
    first = options.get("delimiter", ",").join("x2y")
    for number, data in enumerate([first.encode(), *files]):
        (folder / f"{number}.csv").write_bytes(data)
    by_key = []
    for key in ("_c0", "_c2"):
        how = SourceOptions(
            features="_c1", key=key, require_labels=False, header=False, **options
        )
        partitions = open_source(str(folder), how).partitions
        by_key.append([loaded(partition) for partition in partitions[1:]])
    return [
        None if one is None else rows_of(one, other)
        for one, other in zip(*by_key, strict=True)
    ]


def loaded(partition):
    try:
        return partition.load()
    except DataError:
        return None


def rows_of(one, other):
    numbers = [str(int(value)) for value in one.features[:, 0]]
    return [
        list(row)
        for row in zip(one.keys.tolist(), numbers, other.keys.tolist(), strict=True)
    ]


def is_usable(rows):
    """Tell whether Spark found three cells in each row, and numbers between texts."""
    return rows is not None and all(number in ("1", "2") for _, number, _ in rows)


@pytest.mark.parametrize("name", OPTIONS)
def test_cells_are_those_of_spark(tmp_path, name):
    cases = [
        (data.encode("latin-1"), rows) for case, data, rows in CASES if case == name
    ]
    found = read(tmp_path, [data for data, _ in cases], OPTIONS[name])
    differing = [
        (data, expected, got)
        for (data, rows), got in zip(cases, found, strict=True)
        if got != (expected := rows if is_usable(rows) else None)
    ]
    assert not differing
    assert sum(is_usable(rows) for _, rows in cases) > 60
