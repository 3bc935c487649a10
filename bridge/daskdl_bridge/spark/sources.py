"""DataFrames and RDDs as a source of data: entry point ``spark`` of daskdl.sources.

Openers are loaded for all data. What it takes to open Spark's, Dask's distributed
among it, is imported when there are some.
"""

from contextlib import AbstractContextManager
from typing import Any

from daskdl.data.sources.partition import Source
from daskdl.data.sources.returned import Returned
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.spark.kinds import is_frame, is_handed_over, is_rdd

__all__ = ["SparkSources"]


class SparkSources:
    """Opens a DataFrame, an RDD, what was exported of one, or what workers hold of it.

    Spark writes a DataFrame or an RDD to `SourceOptions.export_directory` first; once
    for an object and the columns that are read.
    """

    def accepts(self, data: Any) -> bool:
        """Say whether the data are of these kinds."""
        return is_handed_over(data) or is_frame(data) or is_rdd(data)

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Have Spark write the data, and open what it wrote.

        Raises
        ------
        ColumnError
            If a column that the options name is not there, before Spark writes.
        OptionError
            If an option does not go with the data, or the export directory is not one
            that all see.
        DataError
            If an RDD holds nothing, or what is no example.
        """
        from daskdl_bridge.spark.opening import opened

        return opened(data, options)

    def heeds(self, data: Any) -> tuple[str, ...]:
        """Return the options that a training master gives for the data.

        None for paths, and for what was handed over before.
        """
        from daskdl_bridge.spark.opening import heeds

        return heeds(data)

    def handed_over(
        self, data: Any, options: SourceOptions, client: Any
    ) -> AbstractContextManager[tuple[Any, SourceOptions]]:
        """Send rows to the workers for the time of the block, if options say so.

        Raises
        ------
        ColumnError
            If a column that the options name is not there, before Spark sends.
        OptionError, DataError, ClusterError, WorkerLostError
            See `daskdl_bridge.spark.direct.direct`.
        """
        from daskdl_bridge.spark.opening import handed_over

        return handed_over(data, options, client)

    def returned(self, data: Any, options: SourceOptions) -> Returned | None:
        """Return how predictions come back as a DataFrame or an RDD.

        None for what was handed over before, which is none of both.
        """
        from daskdl_bridge.spark.opening import returned

        return returned(data, options)
