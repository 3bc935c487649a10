"""Messages about exported data name the DataFrame, not the files it went through."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, DaskdlError, DataError
from daskdl_bridge.spark import opening
from daskdl_bridge.spark.export import Export
from daskdl_bridge.spark.sources import SparkSources


def exported(folder, **columns):
    """Return the export of a DataFrame, as Spark writes it."""
    there = folder / "daskdl-export-0"
    there.mkdir()
    pq.write_table(pa.table(columns), there / "part-00000-a.snappy.parquet")
    (there / "_SUCCESS").touch()
    return Export(f"file://{there}", f"Spark DataFrame in file://{there}")


def source_of(data, **options):
    return SparkSources().open(data, SourceOptions(**options))


def test_a_null_names_the_frame_and_how_many(tmp_path):
    data = exported(tmp_path, features=[1.0, 2.0, 3.0], label=[0, None, None])
    (partition,) = source_of(data).partitions
    expected = (
        "^Spark DataFrame: column 'label' must hold a value in every row, at least 2 "
        r"are null\.$"
    )
    with pytest.raises(DataError, match=expected):
        partition.load()


def test_a_number_that_is_none_names_the_frame_and_no_row(tmp_path):
    data = exported(tmp_path, features=[1.0, float("nan")], label=[0, 1])
    (partition,) = source_of(data).partitions
    expected = r"^Spark DataFrame: column 'features' .* got nan in a row\.$"
    with pytest.raises(DataError, match=expected):
        partition.load()


def test_the_frame_is_named_where_it_is_opened(tmp_path):
    data = exported(tmp_path, features=[1.0], label=["a"])
    with pytest.raises(ColumnError, match=r"^Spark DataFrame: column 'label' must"):
        source_of(data)


def test_the_source_is_called_as_the_frame_and_partitions_keep_their_names(tmp_path):
    source = source_of(exported(tmp_path, features=[1.0], label=[0]))
    assert source.name == "Spark DataFrame"
    assert "daskdl-export-0/part-00000" in source.partitions[0].name


def test_good_rows_are_read_as_they_are(tmp_path):
    source = source_of(exported(tmp_path, features=[1.0, 2.0], label=[0, 1]))
    assert source.partitions[0].load().features.tolist() == [[1.0], [2.0]]


def test_a_wrong_name_is_refused_before_spark_writes(monkeypatch):
    class DataFrame:
        columns = ("features", "label")

    DataFrame.__module__ = "pyspark.sql.dataframe"
    monkeypatch.setattr(opening, "ReturnedFrame", None)
    options = SourceOptions(features="feat")
    with pytest.raises(DaskdlError, match=r"'feat' .* Did you mean 'features'"):
        SparkSources().returned(DataFrame(), options)
