"""What Spark was given for the samples of pickle files and of tuples.

`tests/spark/objects_oracle.py` had Spark write it; this needs no Spark.
"""

import dataclasses
import datetime
import decimal
from collections import OrderedDict, namedtuple
from typing import Any

UTC = datetime.timezone.utc

Point = namedtuple("Point", "x label")


@dataclasses.dataclass(frozen=True)
class Reading:
    """An example of a class of its own."""

    key: str
    values: list[float]
    at: datetime.date


def times(row: int) -> tuple[Any, ...]:
    moment = datetime.datetime(2024, 2, 29, row, 30, 0, 5)  # noqa: DTZ001
    return (
        moment.date(),
        moment,
        moment.replace(tzinfo=UTC),
        datetime.timedelta(days=row - 2, microseconds=row),
        decimal.Decimal(f"{row}.25"),
        [row + 0.5, 2.0],
    )


def ordered(row: int) -> Any:
    return OrderedDict(x=[row, 0.5], label=row % 2)


def point(row: int) -> Point:
    return Point([row + 0.5, 1.0], row % 2)


def reading(row: int) -> Reading:
    return Reading(f"k{row}", [row + 0.5], datetime.date(2024, 1, row + 1))


TUPLES: dict[str, tuple[str, Any]] = {
    "doubles": ("DoubleWritable", lambda row: (row + 0.5, 2.0)),
    "ints": ("IntWritable", lambda row: (row, 2)),
    # Of a small number PySpark makes an IntWritable even beside a large one.
    "longs": ("LongWritable", lambda row: (2**40 + row, -(2**40))),
    "booleans": ("BooleanWritable", lambda row: (row % 2 == 0, True)),
    "texts": ("Text", lambda row: (f"k{row}", "")),
}
"""Element class that PySpark chose, and the tuple of a row."""
