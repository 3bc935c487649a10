"""Predictions in the form in which they were asked for."""

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from daskdl.cluster.inference import Predicted
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import Columns, SourceOptions
from daskdl.errors import OptionError, ShapeError

if TYPE_CHECKING:
    import xarray as xr


def key_names(key: Columns | None) -> tuple[str, ...]:
    """Return the names of the columns of keys; ``key`` if they have none."""
    return (key,) if isinstance(key, str) else key or ("key",)


def check_key(who: str, option: str, key: Columns | None) -> None:
    """Refuse a key whose column the predictions would take."""
    for name in key_names(key):
        # Further outputs of a graph have a number behind it.
        if re.fullmatch(r"(prediction|probability)(_\d+)?", name):
            raise OptionError(
                f"{who}: {option} must differ from the columns of the predictions, got "
                f"{name!r}. Rename the column."
            )


def check_written(who: str, keep: Columns | None, output: str | None) -> None:
    """Refuse columns to be kept beside predictions that are not written."""
    if keep is not None and output is None:
        raise OptionError(
            f"{who}: keep is for predictions that are written, got {keep!r} and no "
            "output."
        )


def check_kept(who: str, option: str, source: Source) -> None:
    """Refuse to keep columns that bear the name of a prediction."""
    kept = source.partitions[0].kept if source.partitions else ()
    if kept:
        check_key(who, option, kept)


def check_predictable(
    who: str, source: Source, options: SourceOptions, output: str | None, data: Any
) -> None:
    """Refuse predictions whose keys, columns or place would not do."""
    check_kept(who, "keep", source)
    if output is not None:
        check_key(who, "key", options.key)
        check_apart(who, "output", output, data)
    if output is not None or not is_labelled(data):
        check_has_keys(source, options)


def as_opened(data: Any, options: SourceOptions) -> SourceOptions:
    """Return options with the key, and columns to keep, that a source was opened with.

    What is no open source has no other than those of the options.
    """
    opened = data.options if isinstance(data, Source) else None
    if opened is None:
        return options
    return replace(
        options, key=options.key or opened.key, keep=options.keep or opened.keep
    )


def columns_of(names: str | Sequence[str]) -> Columns:
    """Return names of columns as options take them."""
    return names if isinstance(names, str) else tuple(names)


def check_apart(who: str, option: str, output: str, data: Any) -> None:
    """Refuse to replace the data by their predictions."""
    for place in data if isinstance(data, list | tuple) else [data]:
        if not isinstance(place, str | os.PathLike):
            continue
        first, second = _folder(output), _folder(os.fspath(place))
        if first.startswith(second) or second.startswith(first):
            raise OptionError(
                f"{who}: {option} must lie apart from the data {os.fspath(place)}, got "
                f"{output}."
            )


def _folder(path: str) -> str:
    whole = path if "://" in path else os.path.abspath(path)
    return f"{posixpath.normpath(whole)}/"


def check_has_keys(source: Source, options: SourceOptions) -> None:
    """Refuse examples without keys."""
    if options.key is not None:
        return
    # To look into each part of what is stored would take long.
    asked = source.partitions if source.in_memory else source.partitions[:1]
    if asked and all(partition.has_keys() for partition in asked):
        return
    raise OptionError(
        f"feed_forward_with_key: key must name the column of {source.name} that holds "
        "the keys, got None. DataSets with keys and lists or Bags of (key, features) "
        "bring their own, arrays have none."
    )


def are_pairs(data: Any) -> bool:
    """Whether `data` is a list of ``(key, features)`` pairs."""
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(item, tuple) and len(item) == 2 for item in data)
        and not isinstance(data[0][1], str)
    )


def dataset_of_pairs(pairs: Sequence[tuple[Any, Any]]) -> DataSet | MultiDataSet:
    """Return a data set of the features, in order, with the keys beside them.

    Parameters
    ----------
    pairs : sequence of (key, features)
        Features are an array of the shape of an example, or a tuple or list of arrays
        for a network of several inputs.

    Raises
    ------
    ShapeError
        If examples differ in their shapes, or in their number of inputs.
    """
    keys = np.empty(len(pairs), object)
    keys[:] = [key for key, _ in pairs]
    if not any(_is_several(features) for _, features in pairs):
        return DataSet(_stacked(keys, [features for _, features in pairs]), keys=keys)
    examples = [found if _is_several(found) else [found] for _, found in pairs]
    for key, example in zip(keys, examples, strict=True):
        if len(example) != len(examples[0]):
            raise ShapeError(
                f"feed_forward_with_key: the features of {key!r} must be "
                f"{len(examples[0])} arrays as those of {keys[0]!r}, got "
                f"{len(example)}."
            )
    inputs = [_stacked(keys, arrays) for arrays in zip(*examples, strict=True)]
    return MultiDataSet(inputs, keys=keys)


def are_masked(data: Any) -> bool:
    """Whether `data` is a list of ``(key, features, mask)``."""
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(item, tuple) and len(item) == 3 for item in data)
    )


def dataset_of_masked(examples: Sequence[tuple[Any, Any, Any]]) -> DataSet:
    """Return a data set of time series with their masks, the keys beside them.

    Parameters
    ----------
    examples : sequence of (key, features, mask)
        Features of the shape of an example, masks of shape (time,) or None for all
        steps.

    Raises
    ------
    ShapeError
        If examples differ in their shapes.
    """
    keys = np.empty(len(examples), object)
    keys[:] = [key for key, _, _ in examples]
    for key, found, mask in examples:
        if _is_several(found) or _is_several(mask):
            raise OptionError(
                f"feed_forward_with_mask_and_key: the features of {key!r} must be one "
                f"array, got {len(found)}. Give several inputs as a MultiDataSet with "
                "keys and masks."
            )
    features = _stacked(keys, [found for _, found, _ in examples])
    given = [mask for _, _, mask in examples if mask is not None]
    if not given:
        return DataSet(features, keys=keys)
    every = np.ones_like(given[0])
    masks = [every if mask is None else mask for _, _, mask in examples]
    return DataSet(features, features_mask=_stacked(keys, masks), keys=keys)


def _is_several(features: Any) -> bool:
    """Whether features are arrays of several inputs, and not lists of numbers."""
    return isinstance(features, tuple | list) and any(
        getattr(item, "ndim", 0) > 0 for item in features
    )


def _stacked(keys: NDArray[Any], examples: Sequence[Any]) -> NDArray[Any]:
    """Return examples as one array of shape (batch, ...)."""
    arrays = [np.asarray(example) for example in examples]
    for key, array in zip(keys, arrays, strict=True):
        if array.shape != arrays[0].shape:
            raise ShapeError(
                f"feed_forward_with_key: the features of {key!r} must have the shape "
                f"{arrays[0].shape} of those of {keys[0]!r}, got {array.shape}. Give "
                "series of several lengths in a call for each length, or padded, with "
                "masks."
            )
    return np.stack(arrays)


def pairs_of(predicted: Sequence[Predicted]) -> list[tuple[Any, Any]]:
    """Return ``(key, prediction)`` pairs; several outputs come as a tuple of arrays.

    A row that was kept without a prediction has None.
    """
    pairs: list[tuple[Any, Any]] = []
    for entry in predicted:
        if not entry.rows:
            continue
        for row, key in enumerate(_as_list(entry.keys)):
            if entry.is_valid is not None and not entry.is_valid[row]:
                pairs.append((key, None))
                continue
            outputs: tuple[NDArray[Any], ...] = tuple(o[row] for o in entry.outputs)
            pairs.append((key, outputs[0] if len(outputs) == 1 else outputs))
    return pairs


def scores_of(
    scored: Sequence[Predicted],
) -> NDArray[Any] | list[tuple[Any, float]]:
    """Return the scores of examples in order, with their keys if they have some."""
    filled = [entry for entry in scored if entry.rows]
    if any(entry.keys is None for entry in filled):
        return np.concatenate([entry.outputs[0] for entry in filled])
    return [(key, float(score)) for key, score in pairs_of(filled)]


def is_labelled(data: Any) -> "TypeGuard[xr.Dataset]":
    """Whether `data` is an xarray data set, without importing xarray."""
    kind = type(data)
    return kind.__module__.partition(".")[0] == "xarray" and kind.__name__ == "Dataset"


def labelled(
    data: "xr.Dataset", predicted: Sequence[Predicted], options: SourceOptions
) -> "xr.Dataset":
    """Return predictions as variables along the sample dimension of `data`.

    The variables are ``prediction``, ``prediction_1``, ... one an output; the
    coordinates of the sample dimension come along.
    """
    import xarray as xr

    sample_dim = options.sample_dim or data[_first_feature(options)].dims[0]
    n_outputs = max((len(entry.outputs) for entry in predicted), default=0)
    variables = {}
    for number in range(n_outputs):
        parts = [entry.outputs[number] for entry in predicted if entry.rows]
        values = np.concatenate(parts)
        axes = [f"output_{axis}" for axis in range(1, values.ndim)]
        name = f"prediction_{number}" if number else "prediction"
        variables[name] = ((sample_dim, *axes), values)
    coordinates = {
        name: coordinate
        for name, coordinate in data.coords.items()
        if coordinate.dims == (sample_dim,)
    }
    return xr.Dataset(variables, coords=coordinates)


def _first_feature(options: SourceOptions) -> str:
    features = options.features
    if isinstance(features, dict):
        features = next(iter(features.values()))
    name: str = features if isinstance(features, str) else (features or ("",))[0]
    return name


def _as_list(keys: Any) -> list[Any]:
    return list(keys.to_pylist() if hasattr(keys, "to_pylist") else keys)
