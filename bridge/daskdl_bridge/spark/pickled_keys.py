"""Keys of an RDD, which Spark's executors pickled, as values again."""

import datetime
import decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import DataError
from daskdl_bridge.readers.pickles import load_pickle

__all__ = ["unpickled_keys"]

_PLAIN = (
    type(None),
    bool,
    int,
    float,
    str,
    bytes,
    datetime.date,
    datetime.timedelta,
    decimal.Decimal,
)


def unpickled_keys(pickles: NDArray[Any], name: str) -> NDArray[Any]:
    """Return what pickles of keys hold; numbers of NumPy are Python's.

    Parameters
    ----------
    pickles : ndarray of shape (rows,), object
        Of bytes.
    name : str
        For messages.

    Returns
    -------
    ndarray of shape (rows,), object

    Raises
    ------
    DataError
        If a key is no number, text, bytes, time or None, nor a tuple of those. Nothing
        that its pickle names is imported.
    """
    keys = np.empty(len(pickles), object)
    for row, pickled in enumerate(pickles):
        keys[row] = _unpickled(pickled, f"{name}, key {row}")
    return keys


def _unpickled(pickled: bytes, name: str) -> Any:
    try:
        key = load_pickle(pickled, name)
    except DataError as error:
        raise DataError(f"{_must(name)} a pickle of another kind: {error}") from error
    if not _is_plain(key):
        raise DataError(f"{_must(name)} {type(key).__name__}.")
    return key


def _must(name: str) -> str:
    return (
        f"{name} must be a number, a text, bytes, a time or None, or a tuple of those, "
        "to be given beside a prediction outside of Spark: map the keys, or give the "
        "RDD without output. Got"
    )


def _is_plain(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_plain, key))
    return isinstance(key, _PLAIN)
