"""CSV whose numbers go into rows at once: the examples, and faults, of columns."""

from random import Random

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DaskdlError
from daskdl_bridge.readers import csv, csv_numbers
from daskdl_bridge.readers.number_table import NumberTable

ODD = [
    "",
    "",
    " ",
    "nan",
    "inf",
    "1e999",
    "NA",
    "-",
    "1.",
    "+5",
    "4.9e-324",
    "x",
    '"1"',
]
OPTIONS = [
    {},
    {"dtype": "float32"},
    {"features": "c0"},
    {"features": ("c2", "c0"), "dtype": "float32", "keep": "all"},
    {"features": {"a": ("c0", "c1"), "b": ("c1", "c2")}},
    {"key": "c2", "features": ("c0", "c1")},
    {"handle_invalid": "skip"},
    {"handle_invalid": "keep"},
    {"null_value": "NA"},
    {"null_value": "7"},
    {"multi_line": True},
    {"label": ("c2", "label"), "features": ("c0", "c1"), "dtype": "float32"},
    {"n_classes": 10, "delimiter": "\t"},
    {"ignore_leading_white_space": True, "header": False, "require_labels": False},
]


def written(path, random, *, odd=0.0, **options):
    """Write a file of random numbers, some of them odd; return its path."""
    delimiter = options.get("delimiter", ",")
    numbers = [
        lambda: repr(random.gauss(0, 1)),
        lambda: f"{random.random():.6f}",
        lambda: str(random.randint(-9, 10**18)),
        lambda: f"{random.uniform(-9, 9):.{random.randint(0, 18)}e}",
    ]
    lines = []
    for _ in range(30):
        cells = [
            random.choice(ODD) if random.random() < odd else random.choice(numbers)()
            for _ in range(3)
        ]
        lines.append(delimiter.join([*cells, str(random.randint(0, 9))]))
        if random.random() < odd / 4:
            lines.append(random.choice(["", " ", "1", delimiter * 3]))
    if options.get("header") is not False:
        lines.insert(0, delimiter.join(["c0", "c1", "c2", "label"]))
    end = random.choice(["\n", "\r\n", "\r"])
    path.write_text(end.join(lines) + random.choice(["", end]), newline="")
    return path


def read(path, **options):
    """Return all of the examples that can be compared, or the refusal."""
    names = ("_c0", "_c1") if options.get("header") is False else ("c0", "c1", "c2")
    how = {"format": "csv", "features": names, **options}
    try:
        (part,) = open_source(str(path), SourceOptions(**how)).partitions
        (rows,) = part.load_rows()
    except DaskdlError as error:
        return type(error), str(error)
    found = [getattr(rows.examples, name) for name in ("features", "labels", "keys")]
    kept = {name: column.to_pylist() for name, column in rows.columns.items()}
    return repr(as_bytes(found)), repr(kept)


def as_bytes(value):
    """Return arrays, and lists of them, as what tells them apart bit for bit."""
    if isinstance(value, list | tuple):
        return list(map(as_bytes, value))
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return repr(value)
    return value.dtype, value.shape, value.flags.c_contiguous, value.tobytes()


@pytest.fixture
def short_files(monkeypatch):
    """Let short files be read as long ones are."""
    monkeypatch.setattr(csv_numbers, "_FEWEST_BYTES", 0)


@pytest.fixture
def tables(monkeypatch):
    """Return the tables of numbers that come to be."""
    made = []

    def making(**fields):
        made.append(NumberTable(**fields))
        return made[-1]

    monkeypatch.setattr(csv, "NumberTable", making)
    return made


@pytest.mark.parametrize("odd", [0, 0.002, 0.05])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rows_are_those_of_columns(tmp_path, monkeypatch, short_files, options, odd):
    random = Random(f"{options} {odd}")
    for number in range(8):
        path = written(tmp_path / f"{number}.csv", random, odd=odd, **options)
        found = read(path, **options)
        with monkeypatch.context() as patch:
            patch.setattr(csv_numbers, "_FEWEST_BYTES", 1 << 30)
            assert read(path, **options) == found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_plain_numbers_are_read_into_rows(tmp_path, short_files, tables, dtype):
    read(written(tmp_path / "x.csv", Random(0)), dtype=dtype)
    assert [(name, rows.dtype) for name, rows in tables[0].groups.items()] == [
        (("c0", "c1", "c2"), dtype),
        (("label",), np.float64),
    ]


def test_short_files_are_left_to_pyarrow(tmp_path, tables):
    read(written(tmp_path / "x.csv", Random(0)))
    assert not tables


def test_quotes_are_left_to_pyarrow(tmp_path, short_files, tables):
    path = tmp_path / "x.csv"
    path.write_text('c0,c1,c2,label\n1,2,3,"4"\n')
    read(path)
    assert not tables


def test_a_null_is_told_with_its_column_and_row(tmp_path, short_files, tables):
    path = tmp_path / "x.csv"
    path.write_text("c0,c1,c2,label\n1,2,3,4\n1,,3,4\n")
    _, message = read(path)
    assert tables
    assert "column 'c1'" in message
    assert "row 1" in message
