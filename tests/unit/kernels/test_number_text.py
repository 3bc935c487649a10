"""Numbers out of text: those that Python reads, bit for bit; nonsense is left alone."""

import struct
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.kernels import number_text
from daskdl.kernels.number_text import SKIPPED, read_numbers

SIGNS = st.sampled_from(["", "-", "+"])
DIGITS = st.text("0123456789", min_size=1, max_size=24)
EXPONENTS = st.one_of(
    st.just(""), st.builds("{}{}".format, st.sampled_from("eE"), st.integers(-340, 300))
)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda value: f"{value:.18e}"),
    st.builds("{}{}.{}{}".format, SIGNS, DIGITS, DIGITS, EXPONENTS),
    st.builds("{}{}{}".format, SIGNS, DIGITS, EXPONENTS),
    st.builds("{}.{}".format, SIGNS, DIGITS),
    st.builds("{}{}.".format, SIGNS, DIGITS),
)
PLAIN = "0.5,-1e3\n"


def read(text, n_columns=2, *, dtype=np.float64, start=0, delimiter=",", places=None):
    """Return (rows, columns) of numbers, and whether one is missing; else None."""
    most_rows = text.count("\n") + text.count("\r") + 1
    columns = np.zeros((n_columns, 3), np.int64)
    columns[:, 0] = range(n_columns) if places is None else places
    n_read = int((columns[:, 0] != SKIPPED).sum())
    columns[:, 1], columns[:, 2] = n_read, dtype == np.float32
    made = {kind: np.zeros(most_rows * n_read, kind) for kind in ("f8", "f4")}
    found = read_numbers(
        text.encode(), start, ord(delimiter), columns, most_rows, made["f8"], made["f4"]
    )
    if found is None:
        return None
    rows, is_missing = found
    numbers = made["f4" if dtype == np.float32 else "f8"].reshape(-1, n_read)
    return numbers[:rows], is_missing


@pytest.fixture
def many_hard(monkeypatch):
    """Let Python read as many of the numbers as there are."""
    monkeypatch.setattr(number_text, "_MOST_HARD", 1)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=9))
def test_numbers_are_those_of_python(rows):
    wanted = np.array([[float(cell) for cell in row] for row in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_text, "_MOST_HARD", 1)
        found = read("".join(f"{a},{b}\n" for a, b in rows))
    if not np.isfinite(wanted).all():
        assert found is None
        return
    numbers, is_missing = found
    assert (numbers.tobytes(), is_missing) == (wanted.tobytes(), False)


def test_numbers_between_two_floats_go_to_the_even_one(many_hard):
    random = Random(0)
    bits = [
        random.getrandbits(52) | random.randint(1022, 1076) << 52 for _ in range(999)
    ]
    pairs = [struct.unpack("2d", struct.pack("2Q", each, each + 1)) for each in bits]
    # The mean has a digit more in binary, and is written in full.
    whole = [int(low * 2**60) + int(high * 2**60) for low, high in pairs]
    texts = [str(each // 2**61) + f"{each % 2**61 / 2**61:.70f}"[1:] for each in whole]
    numbers, _ = read("\n".join(texts), 1)
    assert numbers[:, 0].tolist() == list(map(float, texts))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n", "\r\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_every_line_end_ends_a_row(end, last):
    numbers, _ = read(end.join(["1,2", "3,4", "5,6"]) + end * last)
    assert numbers.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_rows_on_both_sides_of_where_the_text_is_cut():
    rows = [[float(row), row / 8] for row in range(500)]
    numbers, _ = read("".join(f"{a},{b}\n" for a, b in rows))
    assert numbers.tolist() == rows


def test_an_empty_cell_is_told_as_nan():
    numbers, is_missing = read("1,\n,2\n")
    assert is_missing
    np.testing.assert_array_equal(numbers, [[1, np.nan], [np.nan, 2]])


def test_columns_are_skipped_and_put_where_they_belong():
    text = "head\n1,a b,2,\n3,,4,x\n"
    numbers, _ = read(text, 4, start=5, places=[1, SKIPPED, 0, SKIPPED])
    assert numbers.tolist() == [[2, 1], [4, 3]]


def test_single_floats_are_what_doubles_are_cast_to():
    texts = list(map(repr, np.random.default_rng(0).standard_normal(500).tolist()))
    # Rounded once it is the neighbour of what it is when it is rounded twice.
    texts += ["1.000000059604644775390625000001", "3.4028235e38", "1e-45", "1e-60"]
    numbers, _ = read("\n".join(texts), 1, dtype=np.float32)
    wanted = np.array(list(map(float, texts))).astype(np.float32)
    assert numbers[:, 0].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("delimiter", ["\t", ";", "|", " ", "\x01"])
def test_any_other_byte_may_stand_between_cells(delimiter):
    numbers, _ = read(PLAIN.replace(",", delimiter), delimiter=delimiter)
    assert numbers.tolist() == [[0.5, -1000]]


@pytest.mark.parametrize(
    "line",
    [
        *("1", "1,2,3", "1,2,", ",", " 1,2", "1,2 ", "\t,1", "1,nan", "inf,1", "1,x"),
        *("-,1", "+,1", ".,1", "-.,1", "--1,1", "+-1,1", "1e,1", "1e+,1", "e5,1"),
        *("1..2,1", "1_0,1", "0x1,1", "1d,1", '"1",2', "1,é", "1,\0", "1e99999,1"),
        *("1e999,1", "1,-1e400", " ", "\t"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_lines_of_anything_else_are_left_to_others(line, is_first):
    lines = [line, *[PLAIN] * 9] if is_first else [*[PLAIN] * 9, line]
    assert read("\n".join(lines)) is None


def test_a_number_too_large_for_single_floats_is_left_to_others():
    assert read("1,3.4028236e38\n", dtype=np.float32) is None


@pytest.mark.parametrize("delimiter", ["0", "-", "+", ".", "e", "\r", "\n"])
def test_delimiters_that_numbers_hold_are_left_to_others(delimiter):
    assert read(PLAIN, delimiter=delimiter) is None


def test_more_rows_than_there_is_room_for_are_left_to_others():
    columns, made = np.array([[0, 1, 0]]), np.zeros(2)
    assert (
        read_numbers(b"1\n2\n3\n", 0, 44, columns, 2, made, made[:0].astype("f4"))
        is None
    )


def test_long_numbers_everywhere_are_left_to_others():
    assert read("0.1234567890123456789012\n" * 99, 1) is None


def test_nothing_is_read_without_compiled_kernels(monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
    assert read(PLAIN) is None
