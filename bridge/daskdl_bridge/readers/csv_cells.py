"""The cells of CSV text, cut as Spark cuts them, down to cells that are ill-formed.

A cell that does not begin with the quote is taken as it stands, escapes included. In a
quoted one the escape makes the quote, and itself, an ordinary character; before any
other it stands for itself. What a quote begins and no quote rightly ends is kept as
text up to the next delimiter. All of this was found by comparing with Spark's reader.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

__all__ = ["BLANKS", "CsvDialect", "UnclosedQuoteError"]

BLANKS = "".join(map(chr, range(33)))
"""What Java's trim takes off."""

_NO_CHARACTER = "\0"  # stands for a quote or an escape that is switched off


class UnclosedQuoteError(Exception):
    """No quote ends the cell that one begins at an offset."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


@dataclass(frozen=True, kw_only=True)
class CsvDialect:
    """Delimiter, quotes, escapes and blanks of CSV cells.

    Parameters
    ----------
    delimiter : str
        One character or several.
    quote, escape : str
        One character each, or empty: there is none.
    char_to_escape_quote_escaping : str, optional
        What makes the escape an ordinary character; itself, unless it is the quote.
    empty_value : str
        What a quoted empty cell stands for.
    ignore_leading_white_space, ignore_trailing_white_space : bool
        Take blanks around cells off, not those inside quotes.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    char_to_escape_quote_escaping: str | None = None
    empty_value: str = ""
    ignore_leading_white_space: bool = False
    ignore_trailing_white_space: bool = False

    @property
    def trims(self) -> bool:
        """Whether blanks around cells are taken off."""
        return self.ignore_leading_white_space or self.ignore_trailing_white_space

    def row(self, line: str) -> list[str | None]:
        """Return the cells of a line; None for one that is empty and not quoted."""
        if self._quote not in line and not self.trims:
            return [cell or None for cell in line.split(self.delimiter)]
        return self._row(line, 0)[0]

    def rows(
        self, text: str, comment: str | None = None
    ) -> Iterator[tuple[list[str | None], int]]:
        """Yield the cells of rows that may span lines, and where the next row begins.

        Parameters
        ----------
        text : str
            Whole, with a line feed as the only line end. Empty lines are no rows.
        comment : str, optional
            What lines begin with that are no rows.

        Raises
        ------
        UnclosedQuoteError
            If a cell takes up all the rest.
        """
        at = 0
        while at < len(text):
            start = self._behind_blanks(text, at)
            if start == len(text) or text[start] == "\n":
                at = start + 1
            elif comment and text.startswith(comment, at):
                at = (text.find("\n", at) + 1) or len(text)
            else:
                row, end = self._row(text, at)
                if end > len(text) + 1:
                    raise UnclosedQuoteError(at)
                at = end
                yield row, at

    def _row(self, text: str, at: int) -> tuple[list[str | None], int]:
        row = []
        while True:
            cell, at = self._cell(text, at)
            row.append(cell)
            if not text.startswith(self.delimiter, at):
                return row, at + 1
            at += len(self.delimiter)

    def _cell(self, text: str, at: int) -> tuple[str | None, int]:
        """Return the cell that begins at an offset, and where it ends."""
        at = self._behind_blanks(text, at)
        if text.startswith(self._quote, at):
            return self._quoted(text, at + 1)
        end = self._end(text, at)
        cell = text[at:end]
        if end == len(text) and len(self.delimiter) > 1:
            # Quirks of Spark's reader; keys have to be found again in Spark.
            doubled = self._quote if cell.endswith(self._quote) else ""
            return cell + doubled or None, end
        return self._trimmed(cell) or None, end

    def _quoted(self, text: str, at: int) -> tuple[str, int]:
        """Return the cell behind a quote; it ends beyond the text if it is unclosed."""
        if plain := self._plain and self._plain.match(text, at):
            return plain[1] or self.empty_value, plain.end()
        pieces: list[str] = []
        if not self.escape and text.startswith(self._quote, at):
            pieces, at = [self._quote], at + 1
        # Where no quote is wanted, Spark takes the one that opens for one that closes.
        search_from = at if self.quote else at - 1
        while found := self._special.search(text, search_from):
            pieces.append(text[at : found.start()])
            search_from = at = found.end()
            if found.group() != self._quote:
                pieces.append(found.group()[1:])
                continue
            end = self._behind_closing(text, at)
            if end is not None:
                return "".join(pieces) or self.empty_value, end
            if text.startswith(self._quote, at):
                # Doubled, though it is another character that escapes.
                pieces.append(self._quote)
            elif text.startswith(self._escape, at):
                end = self._end(text, at)
                pieces += [self._quote, self._escape, self._loose(text[at + 1 : end])]
                search_from = at = min(end + len(self.delimiter), len(text))
            else:
                return self._unended("".join(pieces), text, at)
        if search_from == at == len(text) and not pieces:
            return self._quote, at + 1
        rest = text[at:].removesuffix(self._escape)
        return "".join([*pieces, rest]) or self.empty_value, len(text) + 1

    def _unended(self, cell: str, text: str, at: int) -> tuple[str, int]:
        """Return a cell that goes on behind a quote in front of index `at`."""
        end = self._end(text, at)
        if len(self.delimiter) > 1 and text[at] in BLANKS:
            # A quirk of Spark's reader: it does not find the delimiter.
            end = (text.find("\n", at) + 1 or len(text) + 1) - 1
        rest = text[at:end]
        seen = rest.lstrip(BLANKS)
        if end == len(text) and seen != rest and seen.find(self._quote) == 1:
            rest += self._quote  # a quirk of Spark's reader
        return self._trimmed(f"{self._quote}{cell}{self._quote}{rest}"), end

    def _behind_closing(self, text: str, at: int) -> int | None:
        """Return where a cell ends that a quote right before `at` closes, else None."""
        end = at
        while not self._ends(text, end):
            if text[end] not in BLANKS:
                return None
            end += 1
        return end

    def _ends(self, text: str, at: int) -> bool:
        return (
            at == len(text) or text[at] == "\n" or text.startswith(self.delimiter, at)
        )

    def _end(self, text: str, at: int) -> int:
        found = self._stop.search(text, at)
        return found.start() if found else len(text)

    def _loose(self, text: str) -> str:
        """Take escapes, and a last quote, out of the text behind a quoted cell."""
        escape, quote = re.escape(self._escape), re.escape(self._quote)
        return re.sub(f"(?s){escape}(.?)|{quote}$", r"\1", text)

    def _trimmed(self, cell: str) -> str:
        return cell.rstrip(BLANKS) if self.ignore_trailing_white_space else cell

    def _behind_blanks(self, text: str, at: int) -> int:
        if not self.ignore_leading_white_space:
            return at
        while at < len(text) and text[at] in BLANKS:
            if self._ends(text, at) or text[at] == self._quote:
                break
            at += 1
        return at

    @property
    def _quote(self) -> str:
        return self.quote or _NO_CHARACTER

    @property
    def _escape(self) -> str:
        return self.escape or _NO_CHARACTER

    @cached_property
    def _stop(self) -> re.Pattern[str]:
        return re.compile(f"{re.escape(self.delimiter)}|\n")

    @cached_property
    def _plain(self) -> re.Pattern[str] | None:
        """Pattern of a quoted cell without escapes, closing quote included."""
        if len(self.delimiter) > 1 or not self.quote:
            return None
        quote, escape = re.escape(self._quote), re.escape(self._escape)
        before = re.escape(self._before_escape)
        inside = f"[^{quote}{escape}]"
        if quote != escape:
            inside = f"(?:{inside}|{escape}(?![{quote}{before}]))"
        return re.compile(f"({inside}*){quote}(?={re.escape(self.delimiter)}|\n)")

    @cached_property
    def _special(self) -> re.Pattern[str]:
        """Pattern of escapes and quotes inside a quoted cell."""
        quote, escape = re.escape(self._quote), re.escape(self._escape)
        before = re.escape(self._before_escape)
        if quote == escape:
            return re.compile(f"{quote}{quote}|{before}|{quote}")
        lone = "" if before == escape else f"|{before}"
        return re.compile(f"{escape}{quote}|{before}{escape}{lone}|{quote}")

    @property
    def _before_escape(self) -> str:
        if self.char_to_escape_quote_escaping:
            return self.char_to_escape_quote_escaping
        return _NO_CHARACTER if self._quote == self._escape else self._escape
