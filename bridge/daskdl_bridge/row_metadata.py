"""Where Spark keeps its own schema of a Parquet file, as JSON."""

__all__ = ["ROW_METADATA"]

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
