"""Names, types and a wrong delimiter, told by the first rows of CSV files."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.text_options import delimiter_of
from daskdl.errors import CorruptFileError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.csv_cells import UnclosedQuoteError
from daskdl_bridge.readers.csv_text import CsvText, Row
from daskdl_bridge.readers.line_ranges import pieces_before
from daskdl_bridge.readers.lines import read_head, read_lines

__all__ = [
    "CsvHead",
    "csv_head",
    "header_before",
    "hint_for_delimiter",
    "is_number",
    "naming_text",
    "safe_names",
]

# What pyarrow takes for a number, which Python's float does not quite. A run of digits
# is matched in one way only: with two, a long cell would take its length squared.
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)[ \t]*",
    re.IGNORECASE | re.ASCII,
)

_SAMPLED_ROWS = 1000
_USUAL_DELIMITERS = (";", "\t", "|", ",")


@dataclass(frozen=True)
class CsvHead:
    """The beginning of the first file that holds a row.

    Parameters
    ----------
    part : Part
        That file; the first one if none holds a row.
    names : tuple of str
        Of all columns, in order.
    has_header : bool
        Whether files start with the names.
    text : CsvText
        Rows, the header among them.
    options : SourceOptions
        As the user gave them.
    """

    part: Part
    names: tuple[str, ...]
    has_header: bool
    text: CsvText
    options: SourceOptions

    @property
    def hint(self) -> str:
        """Advice if the delimiter seems to be another one."""
        for row in itertools.islice(self._rows(), 2):
            if hint := hint_for_delimiter(row, self.options):
                return hint
        return ""

    def kinds(self) -> dict[str, str]:
        """Return for each column ``number`` or ``text``, as its first rows have it."""
        rows = itertools.islice(self._rows(), int(self.has_header), _SAMPLED_ROWS)
        # An empty column is neither, and is taken for numbers that are missing.
        texts: set[int] = set()
        for row in rows:
            cells = enumerate(row[: len(self.names)])
            texts.update(at for at, cell in cells if cell and not is_number(cell))
        return {
            name: "text" if index in texts else "number"
            for index, name in enumerate(self.names)
        }

    def _rows(self) -> Iterator[Row]:
        rows = self.text.rows()
        with naming_text(self.part, self.options):
            try:
                yield from rows
            except UnclosedQuoteError:
                # The head ends within a cell.
                return


def csv_head(parts: Sequence[Part], options: SourceOptions) -> CsvHead:
    """Read the head of the first file that holds a row.

    Raises
    ------
    CorruptFileError
        If it is damaged, or in another encoding.
    """
    part, first, text = _first_row(parts, options)
    has_header = options.header
    if has_header is None:
        has_header = bool(first) and not any(is_number(c) for c in first if c)
    names = safe_names(first if has_header else [None] * len(first))
    return CsvHead(part, tuple(names), has_header, text, options)


def header_before(part: Part, options: SourceOptions) -> Row:
    """Return the first row of the lines of a file before a part; empty without one.

    Raises
    ------
    UnicodeDecodeError
        If it is none of the encoding.
    """
    for piece in pieces_before(part):
        data = read_lines(piece, "CSV", options.storage_options)
        row, _ = CsvText.of(data, options).header_and_rest()
        if row:
            return row
    return []


def hint_for_delimiter(row: Sequence[str | None], options: SourceOptions) -> str:
    """Return advice if the only cell of a row holds another usual delimiter."""
    cell = row[0] if len(row) == 1 else None
    given = delimiter_of(options)
    for delimiter in _USUAL_DELIMITERS:
        if cell and delimiter in cell and delimiter != given:
            shown = "\\t" if delimiter == "\t" else delimiter
            return (
                f" If '{shown}' stands between the cells, give delimiter='{shown}' (in "
                f"a job delimiter: '{shown}', on the command line --option "
                f"delimiter='{shown}')."
            )
    return ""


def is_number(cell: str) -> bool:
    """Tell whether pyarrow reads a cell as a number."""
    return _NUMBER.fullmatch(cell) is not None


def safe_names(header: Row) -> list[str]:
    """Put numbers to columns whose names are empty or doubled, as Spark does."""
    numbers = Counter(header)
    return [
        f"_c{index}" if not name else f"{name}{index}" if numbers[name] > 1 else name
        for index, name in enumerate(header)
    ]


@contextmanager
def naming_text(part: Part, options: SourceOptions) -> Iterator[None]:
    """Name the file whose bytes are none of the encoding, or end in a quoted cell."""
    try:
        yield
    except UnclosedQuoteError as error:
        raise CorruptFileError(
            f"{part.url}: must be a whole CSV file, it is cut short or damaged: no "
            f"quote ends the cell that one begins in the row at character {error.at}."
        ) from error
    except UnicodeError as error:
        raise CorruptFileError(
            f"{part.place}: must be a whole CSV file in {options.encoding}, it is "
            f"damaged or in another encoding: {error}. Give encoding if it is another."
        ) from error


def _first_row(
    parts: Sequence[Part], options: SourceOptions
) -> tuple[Part, Row, CsvText]:
    for part in parts:
        head = read_head(part, "CSV", options)
        with naming_text(part, options):
            text = CsvText.of(head, options, is_whole=False)
            row, _ = text.header_and_rest()
        if row:
            return part, row, text
    return parts[0], [], CsvText.of(b"", options)
