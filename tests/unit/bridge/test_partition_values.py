"""Values of partition directories have the types that Spark infers."""

import json
import math
import pickle
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from daskdl_bridge.listing import list_parts
from daskdl_bridge.partition_values import partition_texts, typed_values

GOLDEN = Path(__file__).parents[2] / "data" / "spark" / "partition_values.json"

LEAP_DAY = datetime.fromisoformat("2024-02-29")

SPARK_NAMES = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.string(): "string",
    pa.null(): "void",
}


def inferred(texts):
    """Return type and values as Spark writes them, floats as floats."""
    found = [partition_texts([f"v={text}"])["v"] for text in texts]
    kind, values = typed_values(found)
    name = SPARK_NAMES.get(kind) or f"decimal({kind.precision},0)"
    return name, [as_spark_writes(values[text]) for text in found]


def as_spark_writes(value):
    if isinstance(value, datetime):
        text = str(value)
        return text.rstrip("0") if "." in text else text
    return value if value is None or isinstance(value, float) else str(value)


def as_we_have_it(texts, kind, values):
    """Return what Spark infers, but for the kinds that not every Spark has."""
    is_odd_date = kind == "date" and any(v is not None and v < "0001" for v in values)
    if kind.startswith("time(") or is_odd_date:
        return "string", values
    if kind == "double":
        return kind, [None if v is None else float(v) for v in values]
    return kind, values


def agree(ours, sparks):
    """Compare, NaN being itself."""
    pairs = zip(ours[1], sparks[1], strict=True)
    is_same = all(
        one == other or (isinstance(one, float) and math.isnan(one) and one != one)
        for one, other in pairs
    )
    return ours[0] == sparks[0] and is_same


def test_types_and_values_are_those_of_spark():
    differing = []
    for texts, kind, values in json.loads(GOLDEN.read_text()):
        sparks = as_we_have_it(texts, kind, values)
        if not agree(inferred(texts), sparks):
            differing.append((texts, sparks, inferred(texts)))
    assert differing == []


@pytest.mark.parametrize(
    ("directories", "kind", "values"),
    [
        (
            ["2024-02-29", "2024-03-01"],
            pa.date32(),
            [date(2024, 2, 29), date(2024, 3, 1)],
        ),
        (
            ["2024-02-29", "2024-03-01 01%3A02%3A03"],
            pa.timestamp("us"),
            [LEAP_DAY, LEAP_DAY + timedelta(days=1, seconds=3723)],
        ),
        (
            ["1", "9223372036854775808"],
            pa.decimal128(19, 0),
            [Decimal(1), Decimal(2**63)],
        ),
    ],
)
def test_parts_have_the_type_of_their_column(tmp_path, directories, kind, values):
    for number, directory in enumerate(directories):
        (tmp_path / f"v={directory}").mkdir()
        (tmp_path / f"v={directory}" / f"part-{number:05d}").write_text("x\n")
    parts = pickle.loads(pickle.dumps(list_parts(tmp_path, require_success=False)))
    assert [part.values["v"] for part in parts] == values
    assert {part.types["v"] for part in parts} == {kind}


@pytest.mark.parametrize("text", ["9" * 5000, "1e999999999", "1e99999999999", "-" * 99])
def test_numbers_without_end_cost_nothing(text):
    kind, _ = typed_values([text])
    assert kind in (pa.float64(), pa.string())
