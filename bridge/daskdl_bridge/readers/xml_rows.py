"""Rows of XML files, read forward with the memory of one row.

A row is an element of the row tag. Its columns are its children by their tags, each
with as many values as there are children of that tag, and its attributes, with an
underscore in front as Spark has it. What is within children is told by the tags on the
way to it. Blanks around text do not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from xml.parsers import expat

from daskdl.errors import CorruptFileError, DataError

__all__ = ["Path", "XmlRow", "tags_in", "xml_rows"]

Path: TypeAlias = tuple[str, ...]
"""Tags from a child of the row on, or the name of an attribute."""

_PIECE_BYTES = 64 << 10
_PIECES_LOOKED_AT = 64
# Of a row, and of what expat holds as it waits for the end of a tag.
_MOST_BYTES = 128 << 20
# Levels of elements within elements; expat holds each open tag.
_DEEPEST = 1000
_POINTER_BYTES = 8
_ATTRIBUTE = "_"
# What Spark calls the text of an element that has attributes.
_TEXT = "_VALUE"


@dataclass(frozen=True)
class XmlRow:
    """One element.

    Parameters
    ----------
    line : int
        On which it begins, from 1.
    cells : dict of tuple of str to list of (str or None)
        Values by their paths; None for an element that holds others itself.
    """

    line: int
    cells: dict[Path, list[str | None]] = field(default_factory=dict)


def xml_rows(stream: Any, row_tag: str, name: str) -> Iterator[XmlRow]:
    """Yield the rows of a file.

    Parameters
    ----------
    stream : binary stream
        At its start.
    row_tag : str
        With the prefix of its namespace, if it has one.
    name : str
        Path or URL for messages.

    Raises
    ------
    CorruptFileError
        If it is no XML, cut short or damaged, is nested deeper than 1,000 levels, or a
        row takes more than 128 MiB.
    DataError
        If it declares entities: a few of them make any number of bytes.
    """
    parser = expat.ParserCreate()
    handler = _Handler(parser, row_tag, name)
    fed = 0
    while True:
        data = stream.read(_PIECE_BYTES)
        fed += len(data)
        try:
            parser.Parse(data, not data)
        except DataError:
            raise
        # The last two are of encodings that nobody knows, or expat does not.
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise CorruptFileError(
                f"{name}: must be a whole XML file, it is cut short or damaged: "
                f"{error}."
            ) from error
        # Each finished row frees what was held of it.
        yield from handler.taken()
        if not data:
            return
        if fed - parser.CurrentByteIndex > _MOST_BYTES:
            raise handler.corrupt(f"a tag must have {_MOST_BYTES} bytes at most")


def tags_in(stream: Any) -> dict[str, int]:
    """Return how often each tag begins at the start of a file, by the first of each.

    Parameters
    ----------
    stream : binary stream
        At its start, of XML. Some MiB are looked at.
    """
    counts: dict[str, int] = {}
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        counts[tag] = counts.get(tag, 0) + 1

    parser.StartElementHandler = start
    for _ in range(_PIECES_LOOKED_AT):
        data = stream.read(_PIECE_BYTES)
        parser.Parse(data, not data)
        if not data:
            break
    return counts


class _Handler:
    """What expat calls; holds the finished rows until they are taken."""

    def __init__(self, parser: Any, row_tag: str, name: str) -> None:
        self._parser = parser
        self._row_tag = row_tag
        self._name = name
        self._rows: list[XmlRow] = []
        self._row: XmlRow | None = None
        # Levels of the file, and tags within the row; what is in the row, and in the
        # innermost element as long as it holds no other.
        self._depth = 0
        self._path: Path = ()
        self._row_text: list[str] = []
        self._text: list[str] | None = None
        self._row_bytes = 0
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity

    def taken(self) -> list[XmlRow]:
        """Return the rows that ended since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def corrupt(self, must: str) -> CorruptFileError:
        """Return the error of a file that takes too much."""
        return CorruptFileError(
            f"{self._name}: {must}, one at line {self._parser.CurrentLineNumber} has "
            "more. The file is damaged, or row_tag is that of another element."
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.corrupt(f"elements must be nested {_DEEPEST} levels at most")
        if self._row is None:
            if tag == self._row_tag:
                self._begin_row(attributes)
            return
        self._path = (*self._path, tag)
        self._count(len(tag) + _POINTER_BYTES * len(self._path))
        self._text = []

    def _begin_row(self, attributes: dict[str, str]) -> None:
        self._row = XmlRow(self._parser.CurrentLineNumber)
        self._path, self._row_bytes, self._row_text = (), 0, []
        for key, value in attributes.items():
            self._row.cells[(f"{_ATTRIBUTE}{key}",)] = [value.strip()]

    def _characters(self, text: str) -> None:
        if self._row is None:
            return
        self._count(len(text))
        if not self._path:
            self._row_text.append(text)
        elif self._text is not None:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._row is None:
            return
        if not self._path:
            self._end_row(self._row)
            return
        value = None if self._text is None else "".join(self._text).strip()
        self._row.cells.setdefault(self._path, []).append(value)
        self._path, self._text = self._path[:-1], None

    def _end_row(self, row: XmlRow) -> None:
        text = "".join(self._row_text).strip()
        if text:
            row.cells[(_TEXT,)] = [text]
        self._rows.append(row)
        self._row = None

    def _count(self, n_bytes: int) -> None:
        # An object of Python takes some tens of bytes beside its text.
        self._row_bytes += n_bytes + 50
        if self._row_bytes > _MOST_BYTES:
            raise self.corrupt(f"a row must have {_MOST_BYTES} bytes at most")

    def _refuse_entity(self, entity: str, *_: Any) -> None:
        raise DataError(
            f"{self._name}: an XML file must declare no entities, it declares "
            f"{entity!r}. Have it written with the text in their place."
        )
