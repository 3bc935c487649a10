"""CSV bytes turned into text that pyarrow reads as Spark would have.

pyarrow is fast, and agrees with Spark where no cell is quoted, or where nothing has to
be taken out of those that are. All other text is cut into cells here and written anew
in the one way of quoting that leaves no choice.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import pyarrow as pa
import pyarrow.csv as pacsv

from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.text_options import delimiter_of
from daskdl.kernels.number_text import count_byte
from daskdl_bridge.readers.csv_cells import BLANKS, CsvDialect
from daskdl_bridge.readers.csv_quotes import quoting_in_agreement
from daskdl_bridge.readers.lines import as_utf8

__all__ = ["CsvText", "RaggedRowError", "Row"]

Row = list[str | None]

_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_LINE_OF_BLANKS = re.compile(rb"(?<![^\r\n])[\0-\x09\x0b\x0c\x0e-\x20]+(?![^\r\n])")

_BLANKS = BLANKS.encode()

# What may stand for a delimiter of several characters; none is a blank.
_DELIMITERS = b",;|~^`\x7f"


class RaggedRowError(Exception):
    """A row has another number of cells than the first: its number, and how many."""

    def __init__(self, row: int, cells: int) -> None:
        super().__init__(row, cells)
        self.row = row
        self.cells = cells


@dataclass(frozen=True, kw_only=True)
class CsvText:
    """The text of a file, and how its rows are told apart.

    Parameters
    ----------
    data : bytes
        UTF-8. With `multi_line` the line feed is the only line end.
    dialect : CsvDialect
        How rows fall into cells.
    comment : str or None
        What lines begin with that are none of the data.
    null_value : str
        What a cell holds that is null.
    multi_line : bool
        Whether cells may span lines.
    start : int
        Offset in the data of the first row, behind a header.
    """

    data: bytes
    dialect: CsvDialect
    comment: str | None
    null_value: str
    multi_line: bool
    start: int = 0

    @classmethod
    def of(
        cls, data: bytes, options: SourceOptions, *, is_whole: bool = True
    ) -> "CsvText":
        """Bring the bytes of a file into the form that is read here.

        Parameters
        ----------
        data : bytes
            Without a byte order mark of UTF-8.
        options : SourceOptions
            Those that bear the names of options of Spark's reader count.
        is_whole : bool
            Whether the file ends with the data.

        Raises
        ------
        UnicodeDecodeError
            If they are none of the encoding.
        """
        values = {f.name: getattr(options, f.name) for f in fields(CsvDialect)}
        values["delimiter"] = delimiter_of(options)
        text = cls(
            data=as_utf8(data, options.encoding, is_whole=is_whole),
            dialect=CsvDialect(**values),
            comment=options.comment,
            null_value=options.null_value,
            multi_line=options.multi_line,
        )
        if options.multi_line:
            text = replace(text, data=_with_line_feeds(text.data))
        return text._simplified()

    def rows(self) -> Iterator[Row]:
        """Yield the cells of each row.

        Raises
        ------
        UnicodeDecodeError
            If the text is no UTF-8.
        """
        for row, _ in self._ended_rows():
            yield [None if cell == self.null_value else cell for cell in row]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return self.start == len(self.data)

    @property
    def has_plain_cells(self) -> bool:
        """Whether lines are rows, and cells stand between single bytes as they are."""
        is_single = len(self.dialect.delimiter.encode()) == 1
        spans = self.multi_line and (bool(self.comment) or self._has(b"\r"))
        return is_single and not spans and not self._has(self._quote)

    def most_rows(self) -> int:
        """Return how many lines there are at most: empty ones are no rows."""
        feeds = self._count(b"\n")
        if not self._has(b"\r"):
            return feeds + 1
        pairs = self.data.count(b"\r\n", self.start)
        return feeds + self._count(b"\r") - pairs + 1

    def header_and_rest(self) -> tuple[Row, "CsvText"]:
        """Return the first row, empty if there is none, and the text behind it."""
        for row, end in self._ended_rows():
            return row, replace(self, start=end)
        return [], self

    def buffer(self) -> pa.Buffer:
        """Return the bytes of its rows; they are not copied."""
        return pa.py_buffer(self.data).slice(self.start)

    def first_line_bytes(self) -> int:
        """Return how long the first line is, 0 if it is the last."""
        return max(0, self.data.find(b"\n", self.start) + 1 - self.start)

    def count(self) -> int:
        """Return the number of rows of text whose lines are rows, or none."""
        lines = (found[1] for found in _LINE.finditer(self.data))
        return sum(1 for line in lines if line.strip(_BLANKS))

    def parse_options(self, n_columns: int) -> pacsv.ParseOptions | None:
        """Return options with which pyarrow parses as Spark does; None if it cannot.

        pyarrow may still refuse text that holds lines of blanks, which Spark skips.
        """
        dialect = self.dialect
        if len(dialect.delimiter.encode()) > 1:
            return None
        if self.multi_line:
            if self.comment or self._has(b"\r"):
                return None
        elif self._may_take_blanks_for_a_row(n_columns):
            return None
        how = {"delimiter": dialect.delimiter, "newlines_in_values": self.multi_line}
        if not self._has(self._quote):
            return pacsv.ParseOptions(quote_char=False, escape_char=False, **how)
        if dialect.trims:
            return None
        rows = self.data[self.start :]
        quoting = quoting_in_agreement(rows, dialect, may_span=self.multi_line)
        return None if quoting is None else pacsv.ParseOptions(**how, **quoting)

    def rewritten(self, n_columns: int, columns: Sequence[int]) -> bytes:
        """Return some columns as text that pyarrow's defaults read right.

        Raises
        ------
        RaggedRowError
            If a row has not `n_columns` cells.
        """
        lines = []
        for number, row in enumerate(self.rows()):
            if len(row) != n_columns:
                raise RaggedRowError(number, len(row))
            lines.append(",".join([_quoted(row[index]) for index in columns]))
        return "\n".join([*lines, ""]).encode()

    @property
    def _quote(self) -> bytes:
        return (self.dialect.quote or "\0").encode()

    def _has(self, sign: bytes) -> bool:
        return self.data.find(sign, self.start) >= 0

    def _count(self, sign: bytes) -> int:
        return count_byte(self.data, sign, self.start)

    def _ended_rows(self) -> Iterator[tuple[Row, int]]:
        """Yield rows and the offset in the data at which the next one begins."""
        if not self.multi_line:
            for found in _LINE.finditer(self.data, self.start):
                line = found[1].decode()
                if line.strip(BLANKS):
                    yield self.dialect.row(line), found.end()
            return
        text = self.data[self.start :].decode()
        at, end_bytes = 0, self.start
        for row, end in self.dialect.rows(text, self.comment):
            end_bytes += len(text[at:end].encode())
            at = end
            yield row, end_bytes

    def _simplified(self) -> "CsvText":
        """Return the same rows without comments, and with a delimiter of one byte."""
        text = self
        is_unquoted = self._quote not in self.data
        if self.comment and (is_unquoted or not self.multi_line):
            text = replace(text, data=_without(text.data, self.comment), comment=None)
        if not is_unquoted:
            return text
        if self.dialect.trims:
            if len(self.dialect.delimiter) > 1:
                return text  # of whose cells Spark does not trim the last
            return replace(text, data=_trimmed(text.data, self.dialect))
        delimiter = self.dialect.delimiter.encode()
        free = [byte for byte in _DELIMITERS if byte not in text.data]
        # Lines of blank delimiters have to stay blank: they are no rows.
        if len(delimiter) > 1 and free and delimiter.strip(_BLANKS):
            dialect = replace(self.dialect, delimiter=chr(free[0]))
            data = text.data.replace(delimiter, bytes(free[:1]))
            text = replace(text, data=data, dialect=dialect)
        return text

    def _may_take_blanks_for_a_row(self, n_columns: int) -> bool:
        has_cells = n_columns == 1 or self.dialect.delimiter in BLANKS
        return has_cells and _LINE_OF_BLANKS.search(self.data, self.start) is not None


def _with_line_feeds(data: bytes) -> bytes:
    """Replace the text's first kind of line end by line feeds, as Spark does."""
    found = re.search(rb"\r\n|\r|\n", data)
    if found is None or found[0] == b"\n":
        return data
    return data.replace(found[0], b"\n")


def _without(data: bytes, comment: str) -> bytes:
    start = re.escape(comment.encode())
    line = rb"(?<![^\r\n])" + start + rb"[^\r\n]*(?:\r\n|\r|\n|\Z)"
    return re.sub(line, b"", data)


def _trimmed(data: bytes, dialect: CsvDialect) -> bytes:
    delimiter = re.escape(dialect.delimiter.encode())
    blanks = set(BLANKS) - {dialect.delimiter, "\r", "\n"}
    blank = b"[" + re.escape("".join(sorted(blanks)).encode()) + b"]+"
    if dialect.ignore_leading_white_space:
        before = rb"(?:(?<=" + delimiter + rb")|(?<=[\r\n])|\A)"
        data = re.sub(before + blank, b"", data)
    if dialect.ignore_trailing_white_space:
        # Only from the first blank of a run: from each, it would take the run squared.
        first = rb"(?<!" + blank.removesuffix(b"+") + rb")"
        behind = rb"(?=" + delimiter + rb"|[\r\n]|\Z)"
        data = re.sub(first + blank + behind, b"", data)
    return data


def _quoted(cell: str | None) -> str:
    return "" if cell is None else f'"{cell.replace(chr(34), chr(34) * 2)}"'
