"""What Spark appends to, by streams or with more columns, is read as it reads it."""

import pytest

from tests.unit.bridge.table_samples import column_of, features_of


@pytest.fixture
def given(spark, tmp_path):
    """Return the path of six files, each with four rows."""
    for batch in range(6):
        rows = spark.range(batch * 4, batch * 4 + 4, 1, 1)
        rows.write.mode("append").parquet(str(tmp_path / "given"))
    return str(tmp_path / "given")


def test_sink_of_a_stream_has_the_rows_that_spark_reads(spark, given, tmp_path):
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "3")
    stream = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1)
    rows = stream.parquet(given).selectExpr("id", "id / 4D as x", "id % 2 as half")
    query = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .partitionBy("half")
        .trigger(availableNow=True)
        .start(str(tmp_path / "sink"))
    )
    query.awaitTermination()
    # A batch that failed leaves files that Spark itself skips.
    spark.range(100, 104, 1, 1).selectExpr("id", "0D as x").write.parquet(
        str(tmp_path / "failed")
    )
    for file in (tmp_path / "failed").glob("part-*.parquet"):
        file.rename(tmp_path / "sink" / "half=0" / file.name)
    found = spark.read.parquet(str(tmp_path / "sink")).select("id", "x", "half")
    assert features_of(tmp_path / "sink", ("x", "half")) == {
        row[0]: [row[1], row[2]] for row in found.collect()
    }


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_schemas_that_grow_are_merged_as_by_spark(spark, form, tmp_path):
    path = str(tmp_path / "grown")
    rows = spark.range(0, 6, 1, 2).selectExpr("id", "concat('n', id) as name")
    rows.select("id").write.format(form).save(path)
    rows.selectExpr("id + 6 as id", "name").write.mode("append").format(form).save(path)
    found = spark.read.option("mergeSchema", "true").format(form).load(path).collect()
    ids = column_of(path, "id", merge_schema=True)
    names = column_of(path, "name", merge_schema=True)
    merged = dict(zip(ids, names, strict=True))
    assert merged == {row["id"]: row["name"] for row in found}
