"""Strings and options that tell readers of CSV apart, and files that hold them."""

from collections.abc import Iterator, Mapping
from typing import Any

STRINGS = (
    # Backslashes.
    "C:\\new\\table",
    "\\N",
    "\\",
    "\\\\",
    "ends in \\",
    "\\begins",
    "\\,",
    "a\\,b",
    '\\"',
    'a\\"b',
    'a\\\\"b',
    "\\t\\n\\0",
    # Quotes.
    '"',
    '""',
    '"""',
    'say "hi"',
    '"hi" he said',
    'say ""hi""',
    "5' 11\"",
    '"quoted"',
    '"half',
    'half"',
    'a"b',
    '"a"b',
    '"a",b',
    '"a"\\b',
    "'",
    "''",
    "'single'",
    "it's",
    "'a'b",
    # Delimiters.
    ",",
    "a,b",
    ",,",
    ";",
    "a;b",
    "|",
    "a|b",
    "||",
    "a||b",
    "a\tb",
    # Blanks, and what Java takes for blanks.
    " leading",
    "trailing ",
    "  ",
    "\tleading tab",
    '" quoted "',
    '"a" b',
    "a\0b",
    "\0",
    # Line ends.
    "two\nlines",
    'a "quoted"\nline, and more',
    "carriage\rreturn",
    "windows\r\nend",
    # What stands for nothing, and comments.
    "",
    "NA",
    "null",
    "EMPTY",
    "# no comment",
    # Beyond ASCII.
    "é ü ß §",
    "\ufeffmarked \U0001f600 漢字",
)

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "doubled quotes": {"escape": '"'},
    "spanning lines": {"multi_line": True},
    "other quote": {
        "quote": "'",
        "delimiter": ";",
        "char_to_escape_quote_escaping": "^",
    },
    "long delimiter": {"delimiter": "||", "escape": '"'},
    "named nulls": {"null_value": "NA", "empty_value": "EMPTY", "comment": "#"},
    "blanks off": {
        "delimiter": "\t",
        "ignore_leading_white_space": True,
        "ignore_trailing_white_space": True,
    },
    "all at once": {
        "encoding": "ISO-8859-1",
        "multi_line": True,
        "escape": '"',
        "comment": "#",
        "null_value": "null",
    },
}


def raw_files(options: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield files with each string as it is, and between quotes, beside a number."""
    delimiter, quote = options.get("delimiter", ","), options.get("quote", '"')
    for string in STRINGS:
        for cell in (string, f"{quote}{string}{quote}"):
            row = delimiter.join([cell, "1", cell])
            text = f"{row}\n{delimiter.join('x2y')}\n"
            yield text.encode(options.get("encoding", "UTF-8"), "replace")
