"""Schemas of Avro files: the columns that they name, as types of Arrow.

Logical types are taken off what fastavro decodes by and become types of Arrow, which
holds days and instants as the same whole numbers.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers.intervals import CATALYST_TYPE, interval_type

__all__ = ["AvroSchema", "read_schema"]

# Levels of types within types; Spark's own have fewer.
_DEEPEST = 50
# Of a schema, where types that are named again count each time: each level of types
# could hold the one below it twice, so that a few KiB would make 2 to the 50th.
_MOST_TYPES = 1 << 16

_PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}
# What Spark reads a union of numbers as.
_WIDER = {
    frozenset([pa.int32(), pa.int64()]): pa.int64(),
    frozenset([pa.float32(), pa.float64()]): pa.float64(),
}
_MOST_DIGITS = 76


@dataclass(frozen=True)
class AvroSchema:
    """The columns of a file, and how its records are decoded.

    Parameters
    ----------
    types : dict of str to (pyarrow.DataType or None)
        Of all columns; None where a column is of no type that can be read.
    reachable : dict of str to (pyarrow.DataType or None)
        Likewise, but records without those of their fields that cannot be read.
    plain : schema as fastavro takes it
        Without logical types.
    """

    types: dict[str, Any]
    reachable: dict[str, Any]
    plain: Any


@dataclass(frozen=True)
class _Kind:
    """A type of a schema.

    Parameters
    ----------
    arrow : pyarrow.DataType or None
        None if it has none.
    plain : str, list or dict
        Without logical types.
    is_empty : bool
        Whether its values may take no byte.
    n_types : int
        It, and all that are within it.
    fields : dict of str to _Kind
        Of a record, or of a union of one with null.
    """

    arrow: Any
    plain: Any
    is_empty: bool = False
    n_types: int = 1
    fields: "dict[str, _Kind]" = field(default_factory=dict)

    @property
    def reachable(self) -> Any:
        """The type without those fields that cannot be read, None if none can."""
        found = [(name, one.reachable) for name, one in self.fields.items()]
        known = [(name, kind) for name, kind in found if kind is not None]
        return pa.struct(known) if known else self.arrow


def read_schema(text: bytes, name: str) -> AvroSchema:
    """Read the schema that a file has in front.

    Parameters
    ----------
    text : bytes
        JSON.
    name : str
        Path or URL for messages.

    Raises
    ------
    CorruptFileError
        If it is no schema.
    DataError
        If it is not that of a record, or a type holds itself, or lists have elements
        that take no byte: a few bytes could claim any number of those.
    """
    try:
        schema = json.loads(text)
        found = _Types(name).kind(schema, "", 0)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, DataError):
            raise
        raise CorruptFileError(
            f"{name}: must have a schema of Avro in front, it is damaged: "
            f"{' '.join(str(error).split()) or type(error).__name__}."
        ) from error
    if not (isinstance(schema, dict) and schema.get("type") == "record"):
        raise DataError(
            f"{name}: must hold records, got {str(schema)[:40]!r}. Have them written "
            "as records with fields."
        )
    return AvroSchema(
        {name: one.arrow for name, one in found.fields.items()},
        {name: one.reachable for name, one in found.fields.items()},
        found.plain,
    )


@dataclass
class _Types:
    """Goes through a schema; what has a name may be used again behind it."""

    name: str
    named: dict[str, _Kind | None] = field(default_factory=dict)

    def kind(self, schema: Any, namespace: str, depth: int) -> _Kind:
        if depth > _DEEPEST:
            raise ValueError(f"types are nested deeper than {_DEEPEST} levels")
        if isinstance(schema, str):
            return self._of_name(schema, namespace)
        if isinstance(schema, list):
            return self._union(schema, namespace, depth)
        inner = schema["type"]
        if inner in ("record", "error"):
            return self._record(schema, namespace, depth)
        if inner in ("enum", "fixed"):
            return self._fixed_or_enum(schema, namespace)
        if inner in ("array", "map"):
            return self._many(schema, namespace, depth)
        return _logical(self.kind(inner, namespace, depth + 1), schema)

    def _of_name(self, name: str, namespace: str) -> _Kind:
        if name in _PRIMITIVES:
            return _Kind(_PRIMITIVES[name], name, name == "null")
        full = _full_name(name, namespace)
        full = full if full in self.named else name
        if full not in self.named:
            raise ValueError(f"there is no type {name!r}")
        found = self.named[full]
        if found is None:
            raise DataError(
                f"{self.name}: types must not hold themselves, {name!r} does. Have it "
                "written without."
            )
        return replace(found, plain=full)

    def _union(self, branches: list[Any], namespace: str, depth: int) -> _Kind:
        kinds = [self.kind(one, namespace, depth + 1) for one in branches]
        n_types = _n_types(kinds)
        others = [one for one in kinds if one.plain != "null"]
        arrow = {one.arrow for one in others}
        single = arrow.pop() if len(arrow) == 1 else _WIDER.get(frozenset(arrow))
        fields = others[0].fields if len(others) == 1 else {}
        plain = [one.plain for one in kinds]
        return _Kind(single, plain, n_types=n_types, fields=fields)

    def _record(self, schema: Any, namespace: str, depth: int) -> _Kind:
        full, namespace = _named(schema, namespace)
        self.named[full] = None
        kinds = {
            one["name"]: self.kind(one["type"], namespace, depth + 1)
            for one in schema["fields"]
        }
        if len(kinds) < len(schema["fields"]):
            raise ValueError(f"two fields of {full!r} have the same name")
        n_types = _n_types(kinds.values())
        fields = {str(name): one for name, one in kinds.items()}
        arrow = [(name, one.arrow) for name, one in fields.items()]
        is_known = arrow and None not in dict(arrow).values()
        plain = [{"name": name, "type": one.plain} for name, one in kinds.items()]
        found = _Kind(
            pa.struct(arrow) if is_known else None,
            {"type": "record", "name": full, "fields": plain},
            all(one.is_empty for one in kinds.values()),
            n_types,
            fields,
        )
        self.named[full] = found
        return found

    def _fixed_or_enum(self, schema: Any, namespace: str) -> _Kind:
        full, _ = _named(schema, namespace)
        plain = {"type": schema["type"], "name": full}
        if schema["type"] == "enum":
            found = _Kind(pa.string(), {**plain, "symbols": schema["symbols"]})
        else:
            size = int(schema["size"])
            arrow = pa.binary(size)
            found = _logical(_Kind(arrow, {**plain, "size": size}, not size), schema)
        self.named[full] = found
        return found

    def _many(self, schema: Any, namespace: str, depth: int) -> _Kind:
        is_list = schema["type"] == "array"
        key = "items" if is_list else "values"
        each = self.kind(schema[key], namespace, depth + 1)
        if is_list and each.is_empty:
            raise DataError(
                f"{self.name}: elements of lists must take a byte, got {each.plain!r}. "
                "Have the lists written without them."
            )
        is_known = is_list and each.arrow is not None
        arrow = pa.list_(each.arrow) if is_known else None
        plain = {"type": schema["type"], key: each.plain}
        return _Kind(arrow, plain, n_types=_n_types([each]))


def _n_types(within: Iterable[_Kind]) -> int:
    """Return the number of types of one that holds others; refuse too many."""
    n_types = 1 + sum(one.n_types for one in within)
    if n_types > _MOST_TYPES:
        raise ValueError(f"it has more than {_MOST_TYPES} types")
    return n_types


def _named(schema: Any, namespace: str) -> tuple[str, str]:
    """Return the full name of a type, and the namespace of what is in it."""
    full = _full_name(schema["name"], schema.get("namespace", namespace) or "")
    return full, full.rpartition(".")[0]


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _logical(kind: _Kind, schema: Any) -> _Kind:
    logical = schema.get("logicalType")
    plain = kind.plain if isinstance(kind.plain, str) else ""
    if logical == "decimal" and kind.arrow is not None:
        return replace(kind, arrow=_decimal(schema), fields={})
    interval = interval_type(schema.get(CATALYST_TYPE))
    if interval is not None and plain in ("int", "long"):
        return replace(kind, arrow=interval)
    if isinstance(logical, str):
        arrow = _LOGICAL.get((plain, logical), kind.arrow)
        return replace(kind, arrow=arrow, fields={})
    return kind


def _decimal(schema: Any) -> Any:
    precision, scale = int(schema["precision"]), int(schema.get("scale", 0))
    if not 0 <= scale <= precision <= _MOST_DIGITS:
        raise ValueError(f"a decimal of {precision} digits, {scale} of them behind")
    make = pa.decimal128 if precision <= 38 else pa.decimal256
    return make(precision, scale)
