"""DL4J's quirks: one table, places that ask for each, and a page that is current."""

import re
import runpy

import pytest

from daskdl.dialects import DL4J, Quirk, dialect
from tests.unit.house.sources import ROOT

WRITER = runpy.run_path(str(ROOT / "docs" / "quirks_page.py"))
TEXT = WRITER["PAGE"].read_text(encoding="utf-8")
TABLE = dialect(DL4J).table
ASKED = re.compile(r'"(\w+)"\s+(?:not\s+)?in\s+(?:\w+\.)*\w*quirks(?:_of\(\w+\))?')


def asked_for() -> set[str]:
    """Return the names that code asks for."""
    texts = [path.read_text("utf-8") for path in (ROOT / "daskdl").rglob("*.py")]
    return {name for text in texts for name in ASKED.findall(text)} - {"name"}


def rows() -> list[str]:
    """Return the lines of the tables that people write, without their heads."""
    _, _, by_hand = TEXT.partition("## The same in both dialects")
    lines = [line for line in by_hand.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| where |")]


def links(text: str) -> list[str]:
    return re.findall(r"\]\(\.\./([^)]+)\)", text)


def test_code_asks_for_every_quirk_and_for_no_other() -> None:
    assert asked_for() == {quirk.name for quirk in TABLE}


def test_each_has_a_name_of_its_own() -> None:
    assert len({quirk.name for quirk in TABLE}) == len(TABLE)


def test_the_page_is_current() -> None:
    """``python docs/quirks_page.py`` renews it."""
    assert WRITER["BEGIN"] in TEXT
    assert WRITER["renewed"](TEXT) == TEXT


@pytest.mark.parametrize("quirk", TABLE, ids=lambda quirk: quirk.name)
def test_its_test_is_in_the_dialect(quirk: Quirk) -> None:
    text = (ROOT / "tests" / quirk.test).read_text(encoding="utf-8")
    assert re.search("DL4J|in_dl4j", text)


def test_every_file_is_there() -> None:
    missing = {path for path in links(TEXT) if not (ROOT / path).is_file()}
    assert missing == set()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.split("|")[1].strip())
def test_what_both_dialects_do_has_its_place_and_its_test(row: str) -> None:
    *_, places, tests, _ = row.split("|")
    assert links(places)
    assert all(path.startswith("tests/") for path in links(tests))
    assert links(tests)
