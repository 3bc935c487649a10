"""Files cut into ranges of bytes hold the rows, and the faults, of files in one."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.bridge.csv_strings import OPTIONS
from tests.unit.bridge.ranged_files import check_alike
from tests.unit.bridge.test_csv_cells import CASES

DIALECTS = [
    *({k: v for k, v in how.items() if k != "multi_line"} for how in OPTIONS.values()),
    {"delimiter": "||", "ignore_trailing_white_space": True},
    {"delimiter": "\t\t", "ignore_leading_white_space": True},
    {"delimiter": " "},
    {"delimiter": "é", "encoding": "cp1252", "comment": "§"},
    {"quote": "", "escape": ""},
]
LINE_ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n", " \n"])
SIZES = st.integers(1, 40)
MARKS = st.sampled_from([b"", b"", b"\xef\xbb\xbf"])
NAMES = st.sampled_from(["x.csv", "part-00000.csv"])


@st.composite
def csv_lines(draw: Any, options: dict[str, str]) -> str:
    delimiter = options.get("delimiter", ",")
    quote = options.get("quote", '"')
    pieces = ["a", "2", " ", "\t", "\\", "#", "é", "§", "NA", "^", "\0"]
    bare = st.lists(st.sampled_from([*pieces, quote, delimiter]), max_size=3)
    quoted = bare.map(lambda some: quote + "".join(some) + quote)
    cell = st.one_of(st.just("x"), bare.map("".join), quoted)
    number = st.sampled_from(["1", "1", "-2.5", "", "y"])
    row = st.tuples(cell, number, cell).map(delimiter.join)
    comment = cell.map(lambda text: f"#{text}")
    row = st.one_of(row, row, row, comment, cell)
    line = st.tuples(row, LINE_ENDS).map("".join)
    return draw(st.lists(line, max_size=6).map("".join)) + draw(row)


@contextmanager
def folder_of(name: str, data: bytes) -> Iterator[str]:
    """Yield the path of a file with the data."""
    folder = tempfile.mkdtemp()
    try:
        path = Path(folder, name)
        path.write_bytes(data)
        yield str(path)
    finally:
        shutil.rmtree(folder)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), options=st.sampled_from(DIALECTS), size=SIZES, name=NAMES)
@pytest.mark.parametrize("header", [None, True, False])
def test_csv(data, options, size, name, header):
    lines = data.draw(csv_lines(options))
    first = options.get("delimiter", ",").join(["_c0", "_c1", "_c2"])
    if header:
        lines = f"{data.draw(st.sampled_from(['', '#', ' ']))}\n{first}\n{lines}"
    encoding = options.get("encoding", "UTF-8")
    content = data.draw(MARKS) + lines.encode(encoding, "replace")
    with folder_of(name, content) as path:
        check_alike(
            path,
            size,
            features="_c1",
            key=data.draw(st.sampled_from(["_c0", "_c2"])),
            require_labels=False,
            header=header,
            **options,
        )


VALUES = st.one_of(
    st.integers(-9, 9),
    st.sampled_from([0.5, 2.0, "NaN", "-Infinity", None, "x", [1.0]]),
)
TEXTS = st.sampled_from(["", "ü\\n", "a\u2028b", '"', None])
RECORDS = st.fixed_dictionaries(
    {"x": VALUES}, optional={"label": st.integers(0, 2), "id": TEXTS, "z": VALUES}
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=SIZES, mark=MARKS)
def test_json(data, size, mark):
    record = RECORDS.map(lambda one: json.dumps(one, ensure_ascii=False))
    line = st.one_of(
        record, record, record, st.sampled_from(["", " ", "{", '{"x": 1}{"x": 2}'])
    )
    lines = st.lists(st.tuples(line, LINE_ENDS).map("".join), max_size=6).map("".join)
    text = '{"x": 1, "label": 1, "id": "i"}\n' + data.draw(lines) + data.draw(record)
    with folder_of("x.json", mark + text.encode()) as path:
        options = {"features": "x", "key": "id", "label": "label"}
        check_alike(path, size, **options)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=SIZES, mark=MARKS, n_features=st.sampled_from([None, 3]))
def test_libsvm(data, size, mark, n_features):
    row = st.tuples(
        st.sampled_from(["0", "1", "-1.5", "+1", "y"]),
        st.lists(st.sampled_from(["1:1", "2:-3e1", "3:.5", "1:", "9:1"]), max_size=3),
        st.sampled_from(["", "", " # odd", "#"]),
    ).map(lambda pieces: " ".join([pieces[0], *pieces[1]]) + pieces[2])
    line = st.one_of(row, row, st.sampled_from(["", " ", "# a comment"]))
    lines = st.lists(st.tuples(line, LINE_ENDS).map("".join), max_size=6).map("".join)
    text = data.draw(lines) + data.draw(row)
    with folder_of("x.libsvm", mark + text.encode()) as path:
        check_alike(path, size, n_features=n_features)


@pytest.mark.parametrize("name", [n for n in OPTIONS if "multi_line" not in OPTIONS[n]])
def test_cells_of_spark(tmp_path, name):
    """All files that Spark was asked about, some of them a few ranges long."""
    delimiter = OPTIONS[name].get("delimiter", ",")
    first = delimiter.join("x2y") + "\n"
    for number, (case, text, _) in enumerate(CASES):
        if case == name:
            data = first.encode() + text.encode("latin-1")
            (tmp_path / f"{number}.csv").write_bytes(data)
    options = {**OPTIONS[name], "header": False, "require_labels": False}
    n_whole = check_alike(str(tmp_path), 11, features="_c1", key="_c2", **options)
    assert n_whole > 60
