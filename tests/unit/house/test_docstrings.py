"""The public docstrings: numpydoc's rules, and their examples run."""

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from numpydoc.validate import validate

from tests.unit.house.sources import module_files, module_name

# Codes of numpydoc.validate. Sections may be left out where the signature says it all,
# but a section that is there is formed as numpydoc wants. The order of keyword-only
# parameters means nothing, so related ones may be described together (no PR03).
RULES = frozenset(
    {
        "GL03",  # no double blank lines
        "GL05",  # no tabs
        "GL06",  # no unknown section
        "GL07",  # sections in their order
        "GL08",  # there is a docstring
        "SS01",  # there is a summary
        "SS02",  # it begins with a capital
        "SS03",  # it ends with a period
        "SS05",  # it is in the imperative
        "SS06",  # it is one line
        "PR02",  # no parameter that does not exist
        "PR05",  # no period after a type
        "PR10",  # a blank before the colon
    }
)


def modules_with_text(text: str) -> list[str]:
    return [
        module_name(path)
        for path in module_files()
        if text in path.read_text(encoding="utf-8")
    ]


def import_module(name: str) -> ModuleType:
    if name.startswith("daskdl_bridge.spark"):
        pytest.importorskip("pyspark", reason="pyspark is not installed")
    return importlib.import_module(name)


def public_objects(module: ModuleType) -> Iterator[str]:
    """Yield the dotted names that numpydoc is to look at, methods included."""
    names = [name for name in vars(module) if not name.startswith("_")]
    for name in getattr(module, "__all__", names):
        value = getattr(module, name)
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            yield f"{module.__name__}.{name}"
            yield from public_methods(value)
        elif inspect.isfunction(value):
            yield f"{module.__name__}.{name}"


def public_methods(owner: type) -> Iterator[str]:
    for name, member in vars(owner).items():
        is_callable = inspect.isfunction(member) or isinstance(
            member, classmethod | staticmethod
        )
        if is_callable and not name.startswith("_"):
            yield f"{owner.__module__}.{owner.__qualname__}.{name}"


@pytest.mark.parametrize("name", [module_name(path) for path in module_files()])
def test_public_docstrings_follow_numpydoc(name: str) -> None:
    module = import_module(name)
    broken = [
        f"{dotted}: {code} {message}"
        for dotted in public_objects(module)
        for code, message in validate(dotted)["errors"]
        if code in RULES
    ]
    assert broken == []


@pytest.mark.usefixtures("forget_kinds")
@pytest.mark.parametrize("name", modules_with_text(">>> "))
def test_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(
        import_module(name),
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert result.failed == 0
