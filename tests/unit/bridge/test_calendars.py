"""Dates and instants of before 1582, which Spark stored in the Julian calendar."""

import datetime
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from daskdl.errors import ColumnError, CorruptFileError
from daskdl_bridge.readers.calendars import gregorian_days
from daskdl_bridge.readers.orc_footer import has_hybrid_dates
from tests.unit.bridge.table_files import load_one, open_path, write_orc

STORED = Path(__file__).parents[2] / "data" / "spark" / "calendars"
FORMS = ["orc_hybrid", "orc_proleptic", "parquet_legacy", "int96_legacy"]
DAYS = [
    datetime.date(2024, 1, 1),
    datetime.date(1582, 10, 15),
    datetime.date(1582, 10, 4),
    datetime.date(1500, 3, 1),
    datetime.date(1500, 1, 1),
    datetime.date(1, 1, 2),
]
# As `unix_micros` of Spark tells them of the same rows.
INSTANTS = [
    1704141296789012,
    -12219219125210988,
    -12220169525210988,
    -14826598325210988,
    -14831695925210988,
    -62135436725210988,
]
# What Spark names where it stores the old calendar; of 1 January 1500.
LEGACY = {
    "org.apache.spark.version": "3.5.1",
    "org.apache.spark.legacyDateTime": "",
    "org.apache.spark.timeZone": "UTC",
}
STORED_DAY = int(np.datetime64("1500-01-10").astype("int64"))
STORED_INSTANT = STORED_DAY * 86_400_000_000


def keys_of(path, column):
    options = {"features": "f", "key": column, "require_labels": False}
    return load_one(path, **options).keys.tolist()


def written(path, columns, metadata):
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, path / "a.parquet")
    return path / "a.parquet"


def one_of(path, metadata, kind="date"):
    """Write a row of a date and an instant, and return it as it is read."""
    columns = {
        "f": pa.array([1.0]),
        "date": pa.array([STORED_DAY], pa.int32()).cast(pa.date32()),
        "instant": pa.array([STORED_INSTANT], pa.timestamp("us", "UTC")),
        "wall": pa.array([STORED_INSTANT], pa.timestamp("us")),
    }
    (key,) = keys_of(written(path, columns, metadata), kind)
    return str(key)[:10]


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_those_that_spark_reads(form):
    assert keys_of(STORED / form, "day") == DAYS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("column", "wrapped"),
    [
        ("inside", lambda day: {"d": day}),
        ("inside.d", lambda day: day),
        ("several", lambda day: [day, None]),
        ("named", lambda day: [("a", day)]),
    ],
)
def test_dates_within_structs_lists_and_maps_are_too(form, column, wrapped):
    assert keys_of(STORED / form, column) == list(map(wrapped, DAYS))


@pytest.mark.parametrize("form", ["parquet_legacy", "int96_legacy"])
def test_instants_are_those_that_spark_reads(form):
    keys = load_one(STORED / form, features="f", key="at", require_labels=False).keys
    assert keys.astype("M8[us]").astype("int64").tolist() == INSTANTS


@pytest.mark.parametrize("form", ["parquet_legacy", "int96_legacy"])
def test_times_without_zone_were_never_stored_otherwise(form):
    assert [key.date() for key in keys_of(STORED / form, "wall")] == DAYS


@pytest.mark.parametrize("form", FORMS)
def test_kept_columns_are_those_that_spark_reads(form):
    options = {"features": "f", "keep": ("day",), "require_labels": False}
    (partition,) = open_path(STORED / form, **options).partitions
    (rows,) = partition.load_rows()
    assert rows.columns["day"].to_pylist() == DAYS


def test_days_are_those_of_a_calendar_that_is_counted():
    """Each day of the Julian calendar against year, month and day by the rules."""
    stored, expected = counted_days(1400, 1582)
    is_old = stored < -141427
    np.testing.assert_array_equal(
        gregorian_days(stored)[is_old], expected[is_old], strict=True
    )


def counted_days(first, last):
    """Return days of the Julian calendar since 1970, and what date they are called."""
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    # 1 January 1400 of the Julian calendar is 8 days behind that of the Gregorian one.
    day = int(np.datetime64("1400-01-09").astype("int64"))
    stored, expected = [], []
    for year in range(first, last + 1):
        for month, length in enumerate(lengths, start=1):
            begin = np.datetime64(f"{year}-{month:02d}-01").astype("int64")
            for number in range(length + (month == 2 and year % 4 == 0)):
                stored.append(day)
                # 29 February 1500 is 1 March.
                expected.append(begin + number)
                day += 1
    return np.array(stored), np.array(expected)


@pytest.mark.parametrize("kind", ["date", "instant"])
def test_files_that_name_the_old_calendar_are_read_so(tmp_path, kind):
    assert one_of(tmp_path, LEGACY, kind) == "1500-01-01"


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"org.apache.spark.version": "3.0.0"},
        {"org.apache.spark.version": "4.3.0", "org.apache.spark.timeZone": "UTC"},
        {"org.apache.spark.version": "4.3.0", "org.apache.spark.legacyINT96": ""},
    ],
)
@pytest.mark.parametrize("kind", ["date", "instant", "wall"])
def test_other_files_are_in_the_calendar_of_today(tmp_path, metadata, kind):
    assert one_of(tmp_path, metadata, kind) == "1500-01-10"


def test_spark_2_knew_the_old_calendar_only(tmp_path):
    assert one_of(tmp_path, {"org.apache.spark.version": "2.4.8"}) == "1500-01-01"


@pytest.mark.parametrize("zone", [None, "Nowhere/Land"])
def test_instants_of_an_unknown_zone_are_refused(tmp_path, zone):
    metadata = {"org.apache.spark.version": "2.4.8"}
    if zone is not None:
        metadata["org.apache.spark.timeZone"] = zone
    with pytest.raises(ColumnError, match="must have a known time zone"):
        one_of(tmp_path, metadata, "instant")


def test_instants_since_1900_need_no_zone(tmp_path):
    times = pa.array([0, None, -2208988800_000_000], pa.timestamp("us", "UTC"))
    columns = {"f": [1.0, 2.0, 3.0], "at": times}
    url = written(tmp_path, columns, {"org.apache.spark.version": "2.4.8"})
    assert [key and key.year for key in keys_of(url, "at")] == [1970, None, 1900]


def test_an_offset_is_no_zone_of_java(tmp_path):
    """Spark stores its text; Java's TimeZone reads GMT from it, not five hours."""
    instant = int(np.datetime64("1582-10-14T20:27", "us").astype("int64"))
    times = pa.array([instant], pa.timestamp("us", "UTC"))
    metadata = {**LEGACY, "org.apache.spark.timeZone": "+05:30"}
    (key,) = keys_of(written(tmp_path, {"f": [1.0], "at": times}, metadata), "at")
    assert str(key)[:16] == "1582-10-04 20:27"


def test_orc_files_of_arrow_are_in_the_calendar_of_today(tmp_path):
    days = pa.array([STORED_DAY], pa.int32()).cast(pa.date32())
    url = write_orc(tmp_path / "a.orc", {"f": pa.array([1.0]), "day": days})
    assert keys_of(url, "day") == [datetime.date(1500, 1, 10)]


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_footers_are_read_whatever_compressed_them(codec):
    stream = io.BytesIO()
    columns = {f"column_{number}": pa.array([number]) for number in range(200)}
    orc.write_table(pa.table(columns), stream, compression=codec)
    assert not has_hybrid_dates(stream, "a.orc")


def test_a_damaged_footer_is_named():
    with pytest.raises(CorruptFileError, match="its footer is damaged"):
        has_hybrid_dates(io.BytesIO(b"ORC\xff\xff\xff\x06"), "a.orc")
