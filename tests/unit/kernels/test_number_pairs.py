"""Lines of labels and pairs: what Python reads in them, or nothing."""

from random import Random

import numpy as np
import pytest

from daskdl.kernels import number_text
from daskdl.kernels.number_text import count_byte, read_pairs

NUMBERS = ("1", "-1", "+1", "0", "-0", "1.", "-.5", "1e5", "1E-3", "5e-324", "1e999")
ODD = ("nan", "inf", "x", "1_0", "", "0x1", "1 2")


def number(random, *, is_odd=False):
    if is_odd:
        return random.choice(ODD)
    if random.random() < 0.1:
        return random.choice(NUMBERS)
    return repr(random.gauss(0, 1) * 10.0 ** random.randint(-9, 9))


def line(random):
    """Return a label and its pairs."""
    indices = sorted(random.sample(range(1, 10**6), random.randint(0, 9)))
    return number(random), [(index, number(random)) for index in indices]


def as_text(random, rows):
    blank = random.choice([" ", "  ", "\t"])
    lines = [
        blank.join([label, *(f"{index}:{value}" for index, value in pairs)])
        for label, pairs in rows
    ]
    end = random.choice(["\n", "\r\n", "\r", "\n\n", " \n"])
    return (end.join(lines) + random.choice(["", end])).encode()


@pytest.mark.parametrize("seed", range(50))
def test_labels_and_pairs_are_those_of_python(seed, monkeypatch):
    monkeypatch.setattr(number_text, "_MOST_HARD", 1)
    random = Random(seed)
    rows = [line(random) for _ in range(random.randint(1, 300))]
    lengths, labels, indices, values = read_pairs(as_text(random, rows))
    pairs = [pair for _, pairs in rows for pair in pairs]
    np.testing.assert_array_equal(lengths, [len(pairs) for _, pairs in rows])
    np.testing.assert_array_equal(labels, [float(label) for label, _ in rows])
    np.testing.assert_array_equal(indices, [index for index, _ in pairs])
    np.testing.assert_array_equal(values, [float(value) for _, value in pairs])


@pytest.mark.parametrize(
    "text",
    [
        *(f"1 3:{odd}" for odd in ODD),
        *(f"{odd} 3:1" for odd in ODD if odd != "1 2"),
        "1 3 :1",
        "1 3: 1",
        "1 3",
        "1 -3:1",
        "1 +3:1",
        "1 3.0:1",
        "1 1234567890123456:1",
        "1 3:1#",
        "1 3:1 # a comment",
        "1\x0b3:1",
    ],
)
def test_what_is_odd_is_left_to_others(text):
    assert read_pairs(f"1 2:3\n{text}\n".encode()) is None


def test_many_numbers_that_are_hard_are_left_to_others():
    assert read_pairs(b"1 2:5e-324\n" * 1000) is None


def test_no_rows_are_no_rows():
    for text in (b"", b"\n", b" \r\n\t\n"):
        assert [len(part) for part in read_pairs(text)] == [0, 0, 0, 0]


def test_a_byte_is_counted_from_an_offset_on():
    text = b"a:b:" * 100_000
    assert count_byte(text, b":") == 200_000
    assert count_byte(text, b":", 2) == 199_999
    assert count_byte(text, b":", len(text)) == 0
