"""What Hadoop's and PySpark's files of pairs hold of a table: a key and a value.

A value is what the method returns that predicts: the outputs of the network. The class
that is the most probable follows from the probabilities and has no place beside them.
"""

import re
from collections.abc import Mapping
from typing import Any

from daskdl.errors import DataError
from daskdl_bridge.writers.parquet import to_table

__all__ = ["split_pairs"]

# As `daskdl.cluster.inference` names the outputs of a network.
_CLASS = re.compile(r"prediction((?:_\d+)?)")


def split_pairs(columns: Mapping[str, Any]) -> tuple[tuple[str, Any], dict[str, Any]]:
    """Return the column of the keys and those of the values.

    Parameters
    ----------
    columns : mapping of str to array
        As :func:`daskdl_bridge.writers.parquet.to_table` takes them. The first holds
        the keys.

    Returns
    -------
    key : (str, pyarrow.Array)
        Name and column.
    values : dict of str to pyarrow.Array
        Without a ``prediction`` beside whose ``probability`` it stands, of each output.

    Raises
    ------
    DataError
        As `to_table`, and if there is no column beside the keys.
    """
    table = to_table(columns)
    (key, *names) = table.column_names
    kept = [name for name in names if not _follows(name, names)]
    if not kept:
        raise DataError(
            f"split_pairs: pairs must have a value beside the key, got {key!r} alone."
        )
    column = {name: table.column(name).combine_chunks() for name in [key, *kept]}
    return (key, column.pop(key)), column


def _follows(name: str, names: list[str]) -> bool:
    of_class = _CLASS.fullmatch(name)
    return of_class is not None and f"probability{of_class[1]}" in names
