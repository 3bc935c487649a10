"""The rows of Dask's releases in tox.ini run every test that meets Dask."""

import ast
import configparser
from pathlib import Path

import pytest

from tests.unit.house.sources import ROOT

TESTS = ROOT / "tests"
# Only the cluster and the command import Dask. The checks of this folder read pages,
# and guides are run as they stand: what a release of Dask breaks, other tests find.
OF_DASK = ("dask", "distributed", "daskdl.cluster", "daskdl.cli")
OF_PAGES = (TESTS / "unit" / "house", TESTS / "integration" / "guides")
CHECKED = sorted(
    path
    for folder in ("unit", "integration")
    for path in (TESTS / folder).rglob("*.py")
    if not any(folder in path.parents for folder in OF_PAGES)
)


@pytest.fixture(scope="module")
def folders() -> list[Path]:
    """Return what the rows run."""
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    named = settings["rows"]["tests"].replace("\\", "").split()
    return [ROOT / folder for folder in named]


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


def test_every_folder_is_there(folders: list[Path]) -> None:
    assert [folder for folder in folders if not folder.is_dir()] == []


def test_every_test_that_meets_dask_is_run(folders: list[Path]) -> None:
    left_out = [
        str(path.relative_to(ROOT))
        for path in CHECKED
        if any(
            f"{name}.".startswith(f"{of}.") for name in imported(path) for of in OF_DASK
        )
        and not any(folder in path.parents for folder in folders)
    ]
    assert left_out == []
