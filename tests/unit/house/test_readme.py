"""README is read outside of a checkout, too: its links lead to the project's home."""

import importlib.metadata
import re

import pytest

from tests.unit.house.sources import ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")
LINKS = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def home() -> str:
    """Return the address below which a file of the project is shown."""
    urls = importlib.metadata.metadata("daskdl").get_all("Project-URL") or []
    (source,) = (url.split(", ")[1] for url in urls if url.startswith("Source,"))
    return f"{source}/blob/main/"


def test_readme_has_links() -> None:
    assert LINKS


@pytest.mark.parametrize("link", LINKS)
def test_link_works_outside_a_checkout(link: str) -> None:
    assert link.startswith("https://")


@pytest.mark.parametrize("link", LINKS)
def test_link_to_the_project_has_a_file(link: str) -> None:
    if link.startswith(home()):
        assert (ROOT / link.removeprefix(home()).split("#")[0]).exists()
