"""Dates, instants and intervals that Spark stored are those that Spark reads."""

import glob

import numpy as np
import pytest

import daskdl
from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError
from daskdl_bridge.source import PathSources

ZONES = [
    "UTC",
    "America/Los_Angeles",
    "Europe/Paris",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "+05:30",
]
REBASE_MODES = [
    f"spark.sql.parquet.{one}RebaseModeInWrite" for one in ("datetime", "int96")
]
FIRST, LAST = (
    np.datetime64(f"{y}-01-02", "us").astype("int64") for y in ("0001", "2100")
)
N_ROWS = 500


@pytest.fixture
def frame(spark, rng):
    """Rows of any instant from the year 1 to 2100, and its day."""
    micros = rng.integers(FIRST, LAST, N_ROWS).tolist()
    rows = [(float(i), one) for i, one in enumerate(micros)]
    made = spark.createDataFrame(rows, "f double, us long").coalesce(1)
    return made.selectExpr("f", "us", "date(timestamp_micros(us)) day")


@pytest.fixture
def configured(spark):
    """Set options of the session until the test ends."""
    before = {}

    def configure(**options):
        for name, value in options.items():
            key = name.replace("__", ".")
            before.setdefault(key, spark.conf.get(key))
            spark.conf.set(key, value)

    yield configure
    for key, value in before.items():
        spark.conf.set(key, value)


def keys_of(path, column):
    (path,) = glob.glob(f"{path}/part-*")
    options = SourceOptions(features="f", key=column, require_labels=False)
    (partition,) = PathSources().open(path, options).partitions
    return partition, partition.load().keys


@pytest.mark.parametrize("proleptic", ["true", "false"])
@pytest.mark.parametrize("codec", ["none", "zlib", "snappy", "lz4", "zstd"])
def test_dates_of_orc(spark, frame, tmp_path, codec, proleptic):
    options = {"compression": codec, "orc.proleptic.gregorian": proleptic}
    frame.drop("us").write.options(**options).orc(f"{tmp_path}/orc")
    _, keys = keys_of(tmp_path / "orc", "day")
    assert keys.astype("M8[D]").astype(str).tolist() == days_of_spark(
        spark.read.orc(f"{tmp_path}/orc")
    )


def days_of_spark(frame):
    texts = frame.orderBy("f").selectExpr("cast(day as string) day").collect()
    return [row["day"] for row in texts]


@pytest.mark.parametrize("stored", ["TIMESTAMP_MICROS", "TIMESTAMP_MILLIS", "INT96"])
@pytest.mark.parametrize("zone", ZONES)
def test_dates_and_instants_of_legacy_parquet(
    spark, frame, tmp_path, configured, zone, stored
):
    configured(
        spark__sql__session__timeZone=zone,
        spark__sql__parquet__outputTimestampType=stored,
        spark__sql__parquet__datetimeRebaseModeInWrite="LEGACY",
        spark__sql__parquet__int96RebaseModeInWrite="LEGACY",
    )
    path = f"{tmp_path}/parquet"
    frame.selectExpr("f", "day", "timestamp_micros(us) at").write.parquet(path)
    _, days = keys_of(path, "day")
    assert days.astype("M8[D]").astype(str).tolist() == days_of_spark(
        spark.read.parquet(path)
    )
    _, instants = keys_of(path, "at")
    rows = spark.read.parquet(path).orderBy("f").selectExpr("unix_micros(at) us")
    found = instants.astype("M8[us]").astype("int64").tolist()
    assert found == [row["us"] for row in rows.collect()]


@pytest.mark.parametrize("output_format", ["parquet", "json", "csv"])
@pytest.mark.parametrize("stored", ["parquet", "orc"])
def test_written_keys_are_the_dates_and_intervals_that_spark_stored(
    spark, frame, tmp_path, stored, output_format
):
    span = "make_dt_interval(cast(f as int), 3, 4, 5.5) span"
    theirs = frame.selectExpr("f", "day", span)
    theirs.write.format(stored).save(f"{tmp_path}/in")
    for column, kind in {"day": "date", "span": "interval day to second"}.items():
        partition, keys = keys_of(tmp_path / "in", column)
        sink = open_sink(f"{tmp_path}/{column}", format=output_format)
        sink.prepare()
        sink.commit([sink.write_part(0, {"key": partition.stored_keys(keys)})])
        reader = spark.read.schema(f"key {kind}").option("header", "true")
        found = reader.format(output_format).load(f"{tmp_path}/{column}")
        assert found.exceptAll(theirs.select(column)).count() == 0
        assert found.where("key is not null").count() == N_ROWS


@pytest.fixture
def old(frame):
    """Days and instants of before 1582, of before 1900, and of later."""
    return frame.selectExpr("f", "day", "timestamp_micros(us) at")


@pytest.mark.parametrize("stored", ["TIMESTAMP_MICROS", "INT96"])
def test_an_export_writes_old_dates_as_they_are(
    spark, old, tmp_path, configured, stored
):
    configured(spark__sql__parquet__outputTimestampType=stored)
    before = {name: spark.conf.get(name) for name in REBASE_MODES}
    with daskdl.spark.export(old, str(tmp_path)) as export:
        assert spark.read.parquet(export.url).exceptAll(old).count() == 0
        folder = export.url.removeprefix("file://")
        _, days = keys_of(folder, "day")
        assert days.astype("M8[D]").astype(str).tolist() == days_of_spark(old)
        _, instants = keys_of(folder, "at")
        rows = old.orderBy("f").selectExpr("unix_micros(at) us").collect()
        found = instants.astype("M8[us]").astype("int64").tolist()
        assert found == [row["us"] for row in rows]
    assert {name: spark.conf.get(name) for name in REBASE_MODES} == before
    context = spark.sparkContext
    assert [context.getLocalProperty(name) for name in REBASE_MODES] == [None, None]


def test_a_session_that_refuses_old_dates_says_what_to_set(old, tmp_path, configured):
    configured(spark__sql__parquet__datetimeRebaseModeInWrite="EXCEPTION")
    with pytest.raises(
        DataError, match=r"^export: dates must be of 15 October 1582 .* earlier ones"
    ) as caught:
        daskdl.spark.export(old, str(tmp_path))
    assert all(
        f'conf.set("{name}", "CORRECTED")' in str(caught.value) for name in REBASE_MODES
    )
    assert not list(tmp_path.glob("daskdl-export-*/*"))
