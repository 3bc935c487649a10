"""Elements of RDDs and of Dask's bags as blocks: arrays of neighbours, with keys.

What runs in Spark's executors is here; it needs numpy there and nothing of this
package, unless an RDD holds its classes.

A block is ``(keys, arrays)``: a key an example, or None; and arrays by name,
``features_0``, ``labels_0``, ``features_mask_0``, ``labels_mask_0``, and so on by
number of input and output. A row that Spark writes is ``(keys, arrays)``: the pickles
of the keys, or nothing, and the bytes of a ``.npz`` file with the arrays.
"""

import io
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

__all__ = [
    "BLOCK_SCHEMA",
    "RefusedElementError",
    "blocks_of_datasets",
    "blocks_of_examples",
    "blocks_of_pairs",
    "rows_of_datasets",
    "rows_of_examples",
    "rows_of_pairs",
]

BLOCK_SCHEMA = "keys array<binary>, arrays binary"

# Of one block, at most.
_EXAMPLES, _BYTES = 1024, 4 << 20

_RDD = "Spark RDD"

_Block = tuple[list[Any] | None, dict[str, Any]]
_Row = tuple[list[bytes] | None, bytes]
_Example = tuple[list[Any], dict[str, Any]]


class RefusedElementError(ValueError):
    """An element is no example, or holds what is no number.

    The driver makes a `daskdl.errors.DataError` of it, which executors need not have.
    It finds it by its line in a traceback, so that a message is of one line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def blocks_of_datasets(datasets: Iterable[Any]) -> Iterator[_Block]:
    """Yield a block a DataSet or MultiDataSet."""
    for dataset in datasets:
        if not hasattr(dataset, "features"):
            raise RefusedElementError(
                f"{_RDD}: elements must all be DataSets or MultiDataSets as the first "
                f"is, got {dataset!r:.200}."
            )
        arrays: dict[str, Any] = {}
        for name, several in (
            ("features", dataset.features),
            ("labels", dataset.labels),
            ("features_mask", _masks(dataset, "features_mask")),
            ("labels_mask", _masks(dataset, "labels_mask")),
        ):
            arrays.update(_numbered(name, several))
        keys = getattr(dataset, "keys", None)
        yield None if keys is None else list(keys), arrays


def blocks_of_pairs(pairs: Iterable[Any], who: str = _RDD) -> Iterator[_Block]:
    """Yield blocks of ``(key, features)`` or ``(key, features, features mask)``."""
    return _blocks(pairs, partial(_keyed, who))


def blocks_of_examples(examples: Iterable[Any], who: str = _RDD) -> Iterator[_Block]:
    """Yield blocks of ``(features, labels)``, arrays of one example each."""
    return _blocks(examples, partial(_labelled, who))


def rows_of_datasets(datasets: Iterable[Any]) -> Iterator[_Row]:
    """Yield the blocks of DataSets and MultiDataSets as rows."""
    return map(_row, blocks_of_datasets(datasets))


def rows_of_pairs(pairs: Iterable[Any]) -> Iterator[_Row]:
    """Yield the blocks of pairs as rows."""
    return map(_row, blocks_of_pairs(pairs))


def rows_of_examples(examples: Iterable[Any]) -> Iterator[_Row]:
    """Yield the blocks of examples as rows."""
    return map(_row, blocks_of_examples(examples))


def _row(block: _Block) -> _Row:
    keys, arrays = block
    return None if keys is None else list(map(_pickled, keys)), _saved(arrays)


def _keyed(who: str, item: Any) -> _Example:
    if not isinstance(item, tuple) or len(item) not in (2, 3) or item[1] is None:
        raise RefusedElementError(
            f"{who}: elements must all be (key, features) or (key, features, mask), "
            f"got {item!r:.200}."
        )
    key, features, *masks = item
    what = f"of the key {key!r:.200}"
    mask = masks[0] if masks else None
    # What a mask drops may be anything.
    arrays = _numbers(who, "features", features, what, are_finite=mask is None)
    arrays.update(_numbers(who, "features_mask", mask, what))
    return [key], arrays


def _labelled(who: str, item: Any) -> _Example:
    if not isinstance(item, tuple) or len(item) != 2:
        raise RefusedElementError(
            f"{who}: elements must all be (features, labels), got {item!r:.200}."
        )
    what = f"of the element {item!r:.200}"
    features = _numbers(who, "features", item[0], what)
    return [], {**features, **_numbers(who, "labels", item[1], what)}


def _numbers(
    who: str, name: str, value: Any, what: str, *, are_finite: bool = True
) -> dict[str, Any]:
    """Return the arrays of an element, which hold numbers, or refuse it by its key."""
    try:
        arrays = _numbered(name, value)
    except (TypeError, ValueError) as error:
        # Lists of several lengths are no array.
        raise RefusedElementError(
            f"{who}: {name} {what} must be an array of numbers, got {error}."
        ) from error
    for array in arrays.values():
        if array.dtype.kind not in "biuf":
            raise RefusedElementError(
                f"{who}: {name} {what} must be an array of numbers, got "
                f"{array.dtype}: {value!r:.200}."
            )
        if are_finite and not np.isfinite(array).all():
            raise RefusedElementError(
                f"{who}: {name} {what} must be finite numbers, got {value!r:.200}."
            )
    return arrays


def _blocks(items: Iterable[Any], read: Callable[[Any], _Example]) -> Iterator[_Block]:
    """Yield blocks of neighbours whose arrays are of the same shapes."""
    examples = map(read, items)
    for _, alike in itertools.groupby(examples, lambda example: _form(example[1])):
        while some := list(_at_once(alike)):
            stacked = {
                name: np.stack([arrays[name] for _, arrays in some])
                for name in some[0][1]
            }
            yield [key for keys, _ in some for key in keys] or None, stacked


def _at_once(examples: Iterator[_Example]) -> Iterator[_Example]:
    held = 0
    for keys, arrays in itertools.islice(examples, _EXAMPLES):
        yield keys, arrays
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
