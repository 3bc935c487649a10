"""The page of DL4J's quirks names files that are there, and that say so."""

import re

import pytest

from tests.unit.house.sources import ROOT

PAGE = ROOT / "docs" / "dl4j-quirks.md"
REPRODUCED, DONE_RIGHT = re.split(
    r"^## Done right", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
)


def rows(text: str) -> list[str]:
    """Return the lines of all tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| where |")]


def links(text: str) -> list[str]:
    return re.findall(r"\]\(\.\./([^)]+)\)", text)


ROWS = rows(REPRODUCED) + rows(DONE_RIGHT)


def test_every_file_is_there() -> None:
    missing = {path for path in links("".join(ROWS)) if not (ROOT / path).is_file()}
    assert missing == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_quirk_has_its_place_and_its_test(row: str) -> None:
    *_, places, tests, _ = row.split("|")
    assert links(places)
    assert all(path.startswith("tests/") for path in links(tests))
    assert links(tests)


def test_the_place_of_what_is_reproduced_names_dl4j() -> None:
    places = {path for path in links(REPRODUCED) if path.startswith("daskdl/")}
    silent = {
        path
        for path in places
        if not re.search("DL4J|M2.1", (ROOT / path).read_text(encoding="utf-8"))
    }
    assert silent == set()
