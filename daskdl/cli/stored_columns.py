"""Names and types of stored columns, read from the head of one file."""

import csv
import io
import json
import posixpath
from typing import Any

from daskdl.data.filesystems import filesystem
from daskdl.data.store import entries_of, kind_of, naming
from daskdl.errors import CorruptFileError

__all__ = ["stored_columns"]

_HEAD_BYTES = 1 << 16
_VECTOR_FIELDS = {"type", "size", "indices", "values"}


def stored_columns(path: str) -> dict[str, str]:
    """Return columns and their types.

    Parameters
    ----------
    path : str
        A file, or a directory of files that Spark wrote.

    Returns
    -------
    dict of str to str
        Empty if the form has no columns, or does not tell them. Types of CSV and JSON
        are not told.

    Raises
    ------
    CorruptFileError
        If the first file should tell them and is damaged.
    """
    fs, inside = filesystem(path)
    first = _first_file(fs, inside)
    if first is None:
        return {}
    ending = posixpath.splitext(first)[1]
    with naming(path), fs.open(first, "rb") as stream:
        if ending in (".parquet", ".orc"):
            return _of_schema(stream, ending, path)
        if ending == ".csv":
            return _of_csv(stream.read(_HEAD_BYTES))
        if ending in (".json", ".jsonl"):
            return _of_json(stream.read(_HEAD_BYTES))
    return {}


def _first_file(fs: Any, path: str) -> str | None:
    """Return the first file that is no marker, below `partitionBy` folders too."""
    if kind_of(fs, path) != "directory":
        return path
    for entry in sorted(entries_of(fs, path)):
        if posixpath.basename(entry).startswith(("_", ".")):
            continue
        found = _first_file(fs, entry)
        if found is not None:
            return found
    return None


def _of_schema(stream: Any, ending: str, path: str) -> dict[str, str]:
    try:
        schema = _schema(stream, ending)
    # What pyarrow raises of damage are built-ins, too.
    except (OSError, ValueError) as error:
        raise CorruptFileError(
            f"{path}: must be a whole {ending[1:]} file, got a damaged one ({error})."
        ) from error
    return {field.name: _type_in_words(field.type) for field in schema}


def _schema(stream: Any, ending: str) -> Any:
    if ending == ".orc":
        import pyarrow.orc

        return pyarrow.orc.ORCFile(stream).schema
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(stream).schema_arrow


def _type_in_words(arrow_type: Any) -> str:
    """Return a type as text; Spark's vectors by their name, as they are four fields."""
    import pyarrow as pa

    if pa.types.is_struct(arrow_type):
        names = {arrow_type.field(index).name for index in range(arrow_type.num_fields)}
        if names == _VECTOR_FIELDS:
            return "vector"
    return str(arrow_type)


def _of_csv(head: bytes) -> dict[str, str]:
    first = next(csv.reader(io.StringIO(head.decode("utf-8-sig", "replace"))), [])
    return dict.fromkeys(first, "text")


def _of_json(head: bytes) -> dict[str, str]:
    try:
        record = json.loads(head.split(b"\n", 1)[0])
    except (RecursionError, ValueError):
        return {}
    return dict.fromkeys(record, "") if isinstance(record, dict) else {}
