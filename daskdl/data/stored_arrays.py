"""Contents of data set files, as plain arrays and lists.

How the arrays and lists lie in a file is the business of a format, which is found by
the name of the class: see :mod:`daskdl.class_files`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

__all__ = ["DataSetArrays", "Layouts", "MultiDataSetArrays", "Tail"]

_Array: TypeAlias = NDArray[Any]
Layouts: TypeAlias = Mapping[str, Any]
"""How some of the arrays were stored, by name: ``features``, ``labels[1]``.

Kept from reading to writing, and understood by the format only.
"""
Tail: TypeAlias = Sequence[Any] | None
"""A list at the end of the file; text, None and objects of the format's own."""


@dataclass(frozen=True)
class DataSetArrays:
    """The arrays and lists of a ``DataSet`` file; any may be missing."""

    features: _Array | None = None
    labels: _Array | None = None
    features_mask: _Array | None = None
    labels_mask: _Array | None = None
    layouts: Layouts = field(default_factory=dict)
    example_metadata: Tail = None
    label_names: Tail = None


@dataclass(frozen=True)
class MultiDataSetArrays:
    """The arrays of a ``MultiDataSet`` file; masks are None where no array has one."""

    features: list[_Array] = field(default_factory=list)
    labels: list[_Array] = field(default_factory=list)
    features_masks: list[_Array | None] | None = None
    labels_masks: list[_Array | None] | None = None
    layouts: Layouts = field(default_factory=dict)
    example_metadata: Tail = None
