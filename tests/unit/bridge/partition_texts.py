"""What stands behind the ``=`` in names of partition directories, one of each kind."""

import random

__all__ = ["KINDS", "all_cases", "random_cases"]

NULL = "__HIVE_DEFAULT_PARTITION__"

KINDS = {
    "int": ["0", "1", "-5", "+5", "007", "2147483647", "-2147483648", "2024"],
    "long": ["2147483648", "-2147483649", "9223372036854775807", "00002147483648"],
    "big": [
        "9223372036854775808",
        "-9223372036854775809",
        "12345678901234567890123456789012345678",
        "123456789012345678901234567890123456789",
        "1e5",
        "1E+5",
        "12e36",
        "1e40",
        "-1e2",
        "0e0",
        "0e3",
        "1.",
        "1.5e1",
        "1.5e2",
        "100e-2",
        "00012345678901234567890",
    ],
    "double": [
        "1.5",
        "-2.50",
        ".5",
        "1e-3",
        "1.5e400",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "1.5d",
        "2f",
        "3L",
        "1D",
        "0x1p3",
        "0x10",
        " 1.5",
        "1.5 ",
        "+NaN",
        "1_000",
        "1e",
    ],
    "date": [
        "2024-01-31",
        "2024-1-5",
        "2024-02-30",
        "2024-02-29",
        "2023-02-29",
        "2024-01",
        "2024-13",
        "2024-01-01 ",
        " 2024-01-01",
        "2024-01-01T",
        "2024-01-01 noon",
        "2024-01-01Tnoon",
        "2024-01-01x",
        "24-01-01",
        "12024-01-01",
        "0001-01-01",
        "0000-01-01",
        "-2024-01-01",
        "+2024-01-01",
        "2024-00-10",
        "2024-1-",
        "20240101",
        "2024-01-011",
        "1500-02-29",
        "1582-10-10",
        "9999-12-31",
        "10000-01-01",
        "2024-001-01",
    ],
    "timestamp": [
        "2024-01-01 12%3A34%3A56",
        "2024-01-01 12%3A34%3A56.7",
        "2024-01-01 12%3A34%3A56.78",
        "2024-01-01 12%3A34%3A56.123456",
        "2024-01-01 12%3A34%3A56.1234567",
        "2024-01-01 12%3A34",
        "2024-01-01T12%3A34%3A56",
        "2024-01-01 12%3A34%3A56Z",
        "2024-01-01 12%3A34%3A56 UTC",
        "2024-01-01 24%3A00%3A00",
        "2024-01-01 23%3A59%3A60",
        "2024-02-30 12%3A00%3A00",
        "2024-1-1 12%3A34%3A56",
        "2024-01-01 1%3A2%3A3",
        "12%3A34%3A56",
        " 2024-01-01 12%3A34%3A56",
        "2024-01-01 12%3A34%3A56.",
        "0001-01-01 00%3A00%3A00",
        "9999-12-31 23%3A59%3A59.9",
        "10000-01-01 00%3A00%3A00",
        "1900-01-01 00%3A00%3A00",
        "2024%2D01%2D01 12%3A34%3A56",
        "2024-03-31 02%3A30%3A00",
    ],
    "text": [
        "a",
        "true",
        "false",
        "null",
        "a%2Fb%3D%25",
        "%31",
        "1%2E5",
        "%",
        "%4",
        "%zz",
        "%00x",
        "100%25",
        "a b",
        "-",
        "+",
        ".",
        "e5",
        "1-2",
        "1 2",
        "0-0",
        "x%20y",
        "1+1",
        "a+b",
        "%c3%a9",
        "%E9",
        "1%",
    ],
    "null": [NULL],
}


def all_cases() -> list[list[str]]:
    """Return each text alone, each beside a null, and pairs of all kinds."""
    alone = [text for texts in KINDS.values() for text in texts]
    found = [[text] for text in alone]
    firsts = [text for texts in KINDS.values() for text in texts[:2]]
    found += [[a, b] for a in firsts for b in firsts if a != b]
    return found


def random_cases(count: int, seed: int) -> list[list[str]]:
    """Return directories of two to four texts, some of them drawn digit by digit."""
    draw = random.Random(seed)

    def text() -> str:
        if draw.random() < 0.3:
            letters = draw.choice(["0123456789", "0123456789.-+eE", "-012%3A T.Z"])
            return "".join(draw.choices(letters, k=draw.randint(1, 12))) + "0"
        return draw.choice(draw.choice(list(KINDS.values())))

    return [
        list(dict.fromkeys(text() for _ in range(draw.randint(1, 4))))
        for _ in range(count)
    ]
