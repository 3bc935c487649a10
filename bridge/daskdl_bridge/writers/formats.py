"""Formats that results are written in, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from daskdl_bridge.writers import csv, json, parquet, pickle, sequence_file

__all__ = ["WRITERS", "Writer"]


@dataclass(frozen=True)
class Writer:
    """What writes a part.

    Parameters
    ----------
    encode : callable
        From columns to the bytes of a file and the number of its rows. Raises DataError
        if it has no form for a column, also if that has no rows.
    ending : str
        Of the file's name.
    """

    encode: Callable[[Mapping[str, Any]], tuple[Any, int]]
    ending: str


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "csv": Writer(csv.encode_csv, ".csv"),
        "json": Writer(json.encode_json, ".json"),
        "parquet": Writer(parquet.encode_parquet, ".snappy.parquet"),
        "pickle": Writer(pickle.encode_pickle, ".seq"),
        "sequence_file": Writer(sequence_file.encode_sequence_pairs, ".seq"),
    }
)
"""Name of a format to its writer."""
