"""Spark's StringIndexer leaves the names of classes where training finds them."""

from daskdl.data.sources.source import SourceOptions, open_source


def test_the_names_of_a_string_indexer_name_the_classes(spark, tmp_path):
    from pyspark.ml.feature import StringIndexer

    rows = [(1.0, "dog"), (2.0, "dog"), (3.0, "cat"), (4.0, 'Ünder, "score"')]
    frame = spark.createDataFrame(rows, "features double, animal string")
    indexer = StringIndexer(inputCol="animal", outputCol="label")
    indexed = indexer.fit(frame)
    indexed.transform(frame).drop("animal").write.parquet(str(tmp_path / "out"))
    source = open_source(str(tmp_path / "out"), SourceOptions(n_classes=3))
    assert source.class_names == tuple(indexed.labels)
