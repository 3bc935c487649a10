"""The page of DL4J's quirks, written from their rows.

``python docs/quirks_page.py`` renews what stands between the two marks of the page.
"""

from itertools import groupby
from pathlib import Path

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.table import QUIRKS

PAGE = Path(__file__).parent / "dl4j-quirks.md"
BEGIN, END = "<!-- quirks -->", "<!-- end of quirks -->"
_HEAD = """| where | `dl4j-1.0.0-M2.1` | `exact` | flag, test |
|---|---|---|---|"""


def tables() -> str:
    """Return a heading and a table for each family, as Markdown."""
    parts = []
    for family, quirks in groupby(QUIRKS, key=lambda quirk: quirk.family):
        parts.append("\n".join([f"### {family}\n", _HEAD, *map(_row, quirks)]))
    return "\n\n".join(parts)


def renewed(page: str) -> str:
    """Return a page with the tables of today between its marks."""
    before, _, behind = page.partition(BEGIN)
    _, _, behind = behind.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{behind}"


def _row(quirk: Quirk) -> str:
    name = Path(quirk.test).name
    test = f"`{quirk.name}`, [{name}](../tests/{quirk.test})"
    return f"| {quirk.where} | {quirk.habit} | {quirk.exact} | {test} |"


def main() -> None:
    """Renew the page."""
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
