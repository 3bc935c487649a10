"""The data source of Spark 4: ``spark.read.format("daskdl")``, and for writing."""

from typing import Any

from daskdl.errors import OptionError

__all__ = ["register"]


def register(session: Any) -> None:
    """Make ``format("daskdl")`` known to a session of Spark 4, classic or Connect.

    ``spark.read.format("daskdl").load(path)`` gives the examples of what daskdl reads,
    one a row; ``frame.write.format("daskdl").mode("append").save(path)`` writes
    minibatches for Deeplearning4j. Spark's Python must have the same daskdl, on the
    driver (with Connect that of the server) and on the executors.

    Parameters
    ----------
    session : pyspark.sql.SparkSession

    Raises
    ------
    OptionError
        If Spark is older than 4.

    Notes
    -----
    Options are those of :class:`~daskdl.SourceOptions`, as text: see
    :mod:`daskdl_bridge.spark.data_source_options`.

    Examples
    --------
    After ``daskdl.spark.register(spark)``,
    ``spark.read.format("daskdl").option("format", "dl4j").load("hdfs:///minibatches")``.
    """
    if not hasattr(session, "dataSource"):
        raise OptionError(
            "register: Spark must have data sources in Python, which came with Spark "
            f"4, got Spark {session.version}. To write minibatches of a DataFrame use "
            "daskdl.export_datasets(frame, url, batch_size=32); to give Spark what "
            "daskdl reads, daskdl.export_parquet(data, url)."
        )
    from daskdl_bridge.spark import data_source_classes
    from daskdl_bridge.spark.export import carry_by_value

    carry_by_value(data_source_classes)
    session.dataSource.register(data_source_classes.DaskdlSource)
