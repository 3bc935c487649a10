"""Types of Spark ML in the log of a Delta table, as the types that they are stored as.

deltalake refuses a table with a column of vectors for its type, which is Spark's and no
type of Delta. In a copy of the log such a column is the struct that files hold.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["has_user_types", "replace_user_types"]

_USER_TYPE = "udt"
_IN_TEXT = b"udt"


def has_user_types(log: str) -> bool:
    """Return whether a commit or a checkpoint in a directory tells of such a type."""
    commits = any(_IN_TEXT in path.read_bytes() for path in Path(log).glob("*.json"))
    return commits or any(map(_stored_schemas, Path(log).glob("*.parquet")))


def replace_user_types(log: str) -> None:
    """Rewrite the commits and checkpoints in a directory, which must be a copy."""
    for path in Path(log).glob("*.json"):
        if _IN_TEXT in path.read_bytes():
            lines = map(_without, path.read_text().splitlines())
            path.write_text("".join(f"{line}\n" for line in lines))
    for path in Path(log).glob("*.parquet"):
        if _stored_schemas(path):
            _rewrite(path)
    # They repeat the schema, and the sizes of checkpoints; the log is whole without.
    for path in (*Path(log).glob("*.crc"), Path(log, "_last_checkpoint")):
        path.unlink(missing_ok=True)


def _stored_schemas(checkpoint: Path) -> list[str]:
    """Return the schemas in a checkpoint that hold such a type."""
    try:
        file = pq.ParquetFile(checkpoint)
    except pa.ArrowInvalid:
        # Damaged, which deltalake has said.
        return []
    if "metaData" not in file.schema_arrow.names:
        return []
    column = file.read(["metaData.schemaString"]).column("metaData")
    texts = [row["schemaString"] for row in column.to_pylist() if row is not None]
    return [text for text in texts if text and _USER_TYPE in text]


def _rewrite(checkpoint: Path) -> None:
    table = pq.read_table(checkpoint)
    at = table.column_names.index("metaData")
    metadata = table.column(at).combine_chunks()
    children = dict(zip(metadata.type.names, metadata.flatten(), strict=True))
    texts = children["schemaString"].to_pylist()
    children["schemaString"] = pa.array(
        [text and _plain_schema(text) for text in texts], pa.string()
    )
    plain = pa.StructArray.from_arrays(
        list(children.values()), fields=list(metadata.type), mask=metadata.is_null()
    )
    pq.write_table(table.set_column(at, table.schema.field(at), plain), checkpoint)


def _without(line: str) -> str:
    action = json.loads(line)
    if "metaData" not in action:
        return line
    schema = action["metaData"]["schemaString"]
    action["metaData"]["schemaString"] = _plain_schema(schema)
    return json.dumps(action)


def _plain_schema(text: str) -> str:
    return json.dumps(_plain(json.loads(text)))


def _plain(kind: Any) -> Any:
    """Return a type of Spark with the stored types in place of user-defined ones."""
    if isinstance(kind, list):
        return [_plain(one) for one in kind]
    if not isinstance(kind, dict):
        return kind
    if kind.get("type") == _USER_TYPE:
        return _plain(kind["sqlType"])
    return {key: one if key == "metadata" else _plain(one) for key, one in kind.items()}
