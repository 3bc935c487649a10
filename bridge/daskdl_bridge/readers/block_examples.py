"""Blocks of arrays by name, as data sets: what RDDs and Dask's bags hold."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.memory import MemorySources
from daskdl.data.sources.source import SourceOptions

__all__ = ["as_in_memory", "examples_of_block"]


def examples_of_block(
    keys: list[Any] | None, arrays: Mapping[str, NDArray[Any]], options: SourceOptions
) -> DataSet | MultiDataSet:
    """Return the examples of a block, shaped and checked as what is in memory.

    Parameters
    ----------
    keys : list of length rows, or None
    arrays : mapping of str to ndarray of shape (rows, ...)
        As :mod:`daskdl_bridge.element_blocks` names them.
    options : SourceOptions

    Raises
    ------
    OptionError, DataError
        See :class:`daskdl.data.sources.memory.MemorySources`.
    """
    return as_in_memory(_examples(arrays, _as_array(keys)), options)


def as_in_memory(
    examples: DataSet | MultiDataSet, options: SourceOptions
) -> DataSet | MultiDataSet:
    """Return examples shaped and checked as those that are in memory.

    Raises
    ------
    OptionError, DataError
        See :class:`daskdl.data.sources.memory.MemorySources`.
    """
    if isinstance(examples, MultiDataSet):
        # The network itself makes rows of the classes of several inputs in memory.
        options = replace(options, n_classes=None)
    (partition,) = MemorySources().open(examples, options).partitions
    return partition.load()


def _as_array(keys: list[Any] | None) -> Any:
    if keys is None:
        return None
    array = np.empty(len(keys), object)
    array[:] = keys
    return array


def _examples(arrays: Mapping[str, Any], keys: Any) -> DataSet | MultiDataSet:
    features = _several(arrays, "features")
    labels = _several(arrays, "labels")
    masks = [_masks(arrays, "features", features), _masks(arrays, "labels", labels)]
    if len(features) == 1 and len(labels) <= 1:
        first, second = (None if mask is None else mask[0] for mask in masks)
        return DataSet(
            features[0], labels[0] if labels else None, first, second, keys=keys
        )
    return MultiDataSet(features, labels, *masks, keys=keys)


def _several(arrays: Mapping[str, Any], name: str) -> list[Any]:
    found: list[Any] = []
    while (array := arrays.get(f"{name}_{len(found)}")) is not None:
        found.append(array)
    return found


def _masks(arrays: Mapping[str, Any], name: str, masked: list[Any]) -> list[Any] | None:
    masks = [arrays.get(f"{name}_mask_{number}") for number in range(len(masked))]
    return None if all(mask is None for mask in masks) else masks
