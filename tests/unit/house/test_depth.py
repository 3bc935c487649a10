"""Whoever reads a class of `daskdl.nn` reads at most two classes beneath it."""

import inspect
from importlib import import_module
from types import ModuleType

import pytest

from tests.unit.house.sources import module_files, module_name

# Conf, LayerConf, and the kind.
DEEPEST = 3

MODULES = [
    name
    for path in module_files()
    if (name := module_name(path)).startswith("daskdl.nn")
]


def own_depth(cls: type) -> int:
    """Return how many classes of the package the longest chain to `cls` has."""
    beneath = [base for base in cls.__bases__ if base.__module__.startswith("daskdl")]
    return 1 + max(map(own_depth, beneath), default=0)


def classes_of(module: ModuleType) -> list[type]:
    classes = inspect.getmembers(module, inspect.isclass)
    return [cls for _, cls in classes if cls.__module__ == module.__name__]


@pytest.mark.parametrize("name", MODULES)
def test_classes_lie_on_few_others(name: str) -> None:
    """What kinds share is a group that they list, see design 0027."""
    depths = {cls.__name__: own_depth(cls) for cls in classes_of(import_module(name))}
    assert {name: depth for name, depth in depths.items() if depth > DEEPEST} == {}
