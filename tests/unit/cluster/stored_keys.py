"""Keys of every type that predictions bring back."""

import datetime
import decimal

import pyarrow as pa

UTC = datetime.timezone.utc
PERSON = pa.struct([("name", pa.string()), ("age", pa.int32())])


def day(number, tz=None):
    return datetime.datetime(2024, 1, number, 12, 30, 0, 5, tz)


# Keys of three parts, and the type in which all of them are stored.
STORED = {
    "decimal": (
        pa.decimal128(12, 2),
        [[decimal.Decimal("1.50")], [decimal.Decimal("22.25"), None], []],
    ),
    "int64 of nothing but null": (pa.int64(), [[1, 2], [None, None], [2**60]]),
    "int32 with a null": (pa.int32(), [[1, 2], [3, None], [4]]),
    "int8": (pa.int8(), [[1, 2], [3, None], [4]]),
    "float32": (pa.float32(), [[0.5], [None, 1.5], [2.5]]),
    "bool": (pa.bool_(), [[True], [None], [False]]),
    "string": (pa.string(), [["a"], [None], []]),
    "binary": (pa.binary(), [[b"a"], [None], [b""]]),
    "date": (pa.date32(), [[datetime.date(2024, 1, 2)], [None], []]),
    "instant": (pa.timestamp("us", "UTC"), [[day(1, UTC)], [None, day(2, UTC)], []]),
    "wall clock": (pa.timestamp("us"), [[day(1)], [None, day(2)], [day(3)]]),
    "time difference": (
        pa.duration("us"),
        [
            [datetime.timedelta(days=1, seconds=3, microseconds=5)],
            [None, -datetime.timedelta(hours=25, minutes=1)],
            [datetime.timedelta(0)],
        ],
    ),
    "struct with null fields": (
        PERSON,
        [
            [{"name": "a", "age": None}],
            [{"name": None, "age": 3}, None],
            [{"name": None, "age": None}],
        ],
    ),
    "lists": (pa.list_(pa.int32()), [[[1], [2, 3]], [[], []], [None, [None]]]),
    "map": (pa.map_(pa.string(), pa.int32()), [[[("a", 1)]], [[]], [None]]),
}
