"""What holds for every module file of daskdl and bridge."""

import ast
import importlib.metadata
from pathlib import Path

import pytest

from tests.unit.house.sources import PACKAGES, module_files, module_name

# Beyond this a file is more than one concern.
MAX_LINES = 600

OF_UNIX = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios"}

MODULES = [pytest.param(path, id=module_name(path)) for path in module_files()]


@pytest.mark.parametrize("path", MODULES)
def test_module_says_what_it_is(path: Path) -> None:
    """A module has a docstring, unless it is empty as most package fronts are."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not tree.body or ast.get_docstring(tree)


@pytest.mark.parametrize("path", MODULES)
def test_module_is_one_concern(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", MODULES)
def test_module_loads_on_every_system(path: Path) -> None:
    """What only some systems have is imported where it is used."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    loaded = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert loaded.isdisjoint(OF_UNIX)


def test_wheel_holds_every_file_of_the_packages() -> None:
    """A template or table that the build leaves out is missed only by users."""
    files = importlib.metadata.files("daskdl") or []
    names = {package.name for package in PACKAGES}
    installed = {str(file) for file in files if file.parts[0] in names}
    if not installed:
        pytest.skip(
            "daskdl is installed in editable mode: there is no wheel to look at"
        )
    checkout = {
        str(path.relative_to(package.parent))
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert checkout - installed == set()
