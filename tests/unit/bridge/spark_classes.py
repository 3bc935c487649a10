"""Spark's classes as far as pickles tell: names, and how each is made anew."""

import sys
from collections import namedtuple
from types import ModuleType
from typing import Any

import numpy as np
import pytest


def provide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the modules of PySpark that pickling looks its classes up in."""
    for parent in ("pyspark", "pyspark.ml", "pyspark.mllib", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    for of in ("ml", "mllib"):
        _provide(monkeypatch, f"pyspark.{of}.linalg", DenseVector, SparseVector)
    _provide(monkeypatch, "pyspark.mllib.regression", LabeledPoint)
    _provide(monkeypatch, "pyspark.sql.types", _create_row)
    _provide(monkeypatch, "pyspark.serializers", _restore)


def _provide(monkeypatch: pytest.MonkeyPatch, name: str, *members: Any) -> None:
    module: Any = ModuleType(name)
    for member in members:
        is_class = isinstance(member, type)
        made = type(member.__name__, (member,), {}) if is_class else member
        made.__module__ = name
        setattr(module, member.__name__, made)
    monkeypatch.setitem(sys.modules, name, module)


def spark_class(module: str, name: str) -> Any:
    return getattr(sys.modules[f"pyspark.{module}"], name)


class DenseVector:
    def __init__(self, *values: float) -> None:
        self.values = np.array(values)

    def __reduce__(self) -> Any:
        return type(self), (self.values.tobytes(),)


class SparseVector:
    def __init__(self, size: int, indices: list[int], values: list[float]) -> None:
        self.size, self.indices, self.values = size, indices, values

    def __reduce__(self) -> Any:
        stored = np.array(self.indices, np.int32), np.array(self.values)
        return type(self), (self.size, *(one.tobytes() for one in stored))


class LabeledPoint:
    def __init__(self, label: float, features: Any) -> None:
        self.label, self.features = label, features

    def __reduce__(self) -> Any:
        return type(self), (self.label, self.features)


class Row:
    def __init__(self, **values: Any) -> None:
        self.values = values

    def __reduce__(self) -> Any:
        names = list(self.values)
        return _create_row, (names, tuple(self.values.values()))


def _restore(name: str, fields: Any, values: Any) -> Any:
    return namedtuple(name, fields)(*values)


def _create_row(names: list[str], values: Any) -> Row:
    return Row(**dict(zip(names, values, strict=True)))
