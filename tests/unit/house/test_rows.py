"""The rows of Dask's releases in tox.ini run every test that meets Dask."""

import ast
import configparser
import shlex
from pathlib import Path

import pytest

from tests.unit.house.sources import ROOT

TESTS = ROOT / "tests"
OF_DASK = ("dask", "distributed")
# The checks of this folder read pages, and guides are run as they stand: what a release
# of Dask breaks, other tests find.
OF_PAGES = (TESTS / "unit" / "house", TESTS / "integration" / "guides")
CHECKED = sorted(
    path
    for folder in ("unit", "integration")
    for path in (TESTS / folder).rglob("*.py")
    if not any(folder in path.parents for folder in OF_PAGES)
)


@pytest.fixture(scope="module")
def named() -> list[Path]:
    """Return what the rows between name: what to run, and files to leave out."""
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    rows = settings["rows"]
    text = rows["tests"].replace("{[rows]without_rules}", rows["without_rules"])
    text = text.replace("\\\n", " ").replace("{tox_root}/", "")
    return [ROOT / word for word in shlex.split(text) if word != "--ignore"]


def imported(path: Path) -> set[str]:
    """Return the names of the modules that a file imports, in functions as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def is_run(path: Path, named: list[Path]) -> bool:
    """Return whether a file is named, or a ``conftest.py`` above what is."""
    if path.name == "conftest.py" and any(path.parent in at.parents for at in named):
        return True
    return any(place in (path, *path.parents) for place in named)


def test_what_the_rows_name_is_there(named: list[Path]) -> None:
    assert [path for path in named if not path.exists()] == []


def test_every_test_that_meets_dask_is_run(named: list[Path]) -> None:
    left_out = [
        str(path.relative_to(ROOT))
        for path in CHECKED
        if any(
            f"{name}.".startswith(f"{of}.") for name in imported(path) for of in OF_DASK
        )
        and not is_run(path, named)
    ]
    assert left_out == []
