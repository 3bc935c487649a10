"""What RDDs hold, as rows that Spark writes: arrays by blocks, keys beside them.

What runs in Spark's executors is here; it needs numpy there and nothing of this
package, unless an RDD holds its classes.

A row is ``(keys, arrays)``: the pickles of the keys, one an example, or nothing; and
the bytes of a ``.npz`` file with ``features_0``, ``labels_0``, ``features_mask_0``,
``labels_mask_0``, and so on by number of input and output.
"""

import io
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

__all__ = [
    "BLOCK_SCHEMA",
    "rows_of_datasets",
    "rows_of_examples",
    "rows_of_pairs",
]

BLOCK_SCHEMA = "keys array<binary>, arrays binary"

# Of one block, at most.
_EXAMPLES, _BYTES = 1024, 4 << 20

_Row = tuple[list[bytes] | None, bytes]
_Example = tuple[bytes | None, dict[str, Any]]


def rows_of_datasets(datasets: Iterable[Any]) -> Iterator[_Row]:
    """Yield a row a DataSet or MultiDataSet."""
    for dataset in datasets:
        arrays: dict[str, Any] = {}
        for name, several in (
            ("features", dataset.features),
            ("labels", dataset.labels),
            ("features_mask", _masks(dataset, "features_mask")),
            ("labels_mask", _masks(dataset, "labels_mask")),
        ):
            arrays.update(_numbered(name, several))
        keys = getattr(dataset, "keys", None)
        pickles = None if keys is None else [_pickled(key) for key in keys]
        yield pickles, _saved(arrays)


def rows_of_pairs(pairs: Iterable[Any]) -> Iterator[_Row]:
    """Yield rows of ``(key, features)`` or ``(key, features, features mask)``."""
    return _blocks(pairs, _keyed)


def rows_of_examples(examples: Iterable[Any]) -> Iterator[_Row]:
    """Yield rows of ``(features, labels)``, arrays of one example each."""
    return _blocks(examples, _labelled)


def _keyed(item: Any) -> _Example:
    if not isinstance(item, tuple) or len(item) not in (2, 3) or item[1] is None:
        raise ValueError(
            "Spark RDD: elements must all be (key, features) or (key, features, mask), "
            f"got {item!r:.200}."
        )
    key, features, *masks = item
    what = f"of the key {key!r:.200}"
    mask = masks[0] if masks else None
    # What a mask drops may be anything.
    arrays = _numbers("features", features, what, are_finite=mask is None)
    arrays.update(_numbers("features_mask", mask, what))
    return _pickled(key), arrays


def _labelled(item: Any) -> _Example:
    if not isinstance(item, tuple) or len(item) != 2:
        raise ValueError(
            f"Spark RDD: elements must all be (features, labels), got {item!r:.200}."
        )
    what = f"of the element {item!r:.200}"
    features = _numbers("features", item[0], what)
    return None, {**features, **_numbers("labels", item[1], what)}


def _numbers(
    name: str, value: Any, what: str, *, are_finite: bool = True
) -> dict[str, Any]:
    """Return the arrays of an element, which hold numbers, or refuse it by its key."""
    try:
        arrays = _numbered(name, value)
    except (TypeError, ValueError) as error:
        # Lists of several lengths are no array.
        raise ValueError(
            f"Spark RDD: {name} {what} must be an array of numbers, got {error}."
        ) from error
    for array in arrays.values():
        if array.dtype.kind not in "biuf":
            raise ValueError(
                f"Spark RDD: {name} {what} must be an array of numbers, got "
                f"{array.dtype}: {value!r:.200}."
            )
        if are_finite and not np.isfinite(array).all():
            raise ValueError(
                f"Spark RDD: {name} {what} must be finite numbers, got {value!r:.200}."
            )
    return arrays


def _blocks(items: Iterable[Any], read: Callable[[Any], _Example]) -> Iterator[_Row]:
    """Yield rows of neighbours whose arrays are of the same shapes."""
    examples = map(read, items)
    for _, alike in itertools.groupby(examples, lambda example: _form(example[1])):
        while some := list(_at_once(alike)):
            stacked = {
                name: np.stack([arrays[name] for _, arrays in some])
                for name in some[0][1]
            }
            keys = [key for key, _ in some if key is not None]
            yield keys or None, _saved(stacked)


def _at_once(examples: Iterator[_Example]) -> Iterator[_Example]:
    held = 0
    for key, arrays in itertools.islice(examples, _EXAMPLES):
        yield key, arrays
        held += sum(array.nbytes for array in arrays.values())
        if held >= _BYTES:
            return


def _form(arrays: dict[str, Any]) -> tuple[Any, ...]:
    return tuple((name, array.shape, array.dtype) for name, array in arrays.items())


def _masks(dataset: Any, name: str) -> Any:
    several = getattr(dataset, f"{name}s", None)
    return several if several is not None else getattr(dataset, name, None)


def _numbered(name: str, value: Any) -> dict[str, Any]:
    """Return the arrays of all inputs or outputs, by name and number."""
    if value is None:
        return {}
    is_several = isinstance(value, tuple | list) and any(
        getattr(one, "ndim", 0) for one in value if one is not None
    )
    several = value if is_several else [value]
    return {
        f"{name}_{number}": _array(one)
        for number, one in enumerate(several)
        if one is not None
    }


def _array(value: Any) -> Any:
    # Vectors of Spark are no arrays.
    return np.asarray(value.toArray() if hasattr(value, "toArray") else value)


def _pickled(key: Any) -> bytes:
    return pickle.dumps(key, protocol=4)


def _saved(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()
