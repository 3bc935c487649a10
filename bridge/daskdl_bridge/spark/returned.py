"""Predictions as the kind that the data are: a DataFrame, or an RDD of pairs."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from daskdl.checks import some
from daskdl.data.sources.returned import OutputColumn
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl_bridge.spark.directory import export_directory
from daskdl_bridge.spark.export import Export, export, exported, kept_until_exit
from daskdl_bridge.spark.session import session_of
from daskdl_bridge.storage import join_url

__all__ = ["ReturnedFrame", "ReturnedPairs"]

# Beside the columns of the user, as long as rows and predictions are apart.
_ROW = "_daskdl_row"
_KEY = "key"


class ReturnedFrame:
    """A DataFrame with all its columns, and the predictions behind them.

    Spark writes it once with a number a row, the predictions are keyed by that number,
    and Spark joins both: so that what it has no counterpart for elsewhere stays as it
    is.

    Parameters
    ----------
    frame : pyspark DataFrame
    options : SourceOptions

    Attributes
    ----------
    data, options, key, output
        See :class:`daskdl.data.sources.returned.Returned`.

    Raises
    ------
    OptionError
        If a column has a name that predictions bear.
    """

    key: str = _ROW

    def __init__(self, frame: Any, options: SourceOptions) -> None:
        from pyspark.sql import functions

        taken = [
            c for c in frame.columns if c.startswith(("prediction", "probability"))
        ]
        if taken:
            raise OptionError(
                "feed_forward_with_key: columns must differ from those of predictions, "
                f"got {some(taken)}. Rename or drop them."
            )
        self._session = session_of(frame)
        numbered = frame.withColumn(_ROW, functions.monotonically_increasing_id())
        self.data = kept_until_exit(
            export(
                numbered,
                options.export_directory,
                storage_options=options.storage_options,
            )
        )
        self.options = replace(options, key=_ROW)
        self.output = f"{self.data.url}-predictions"
        kept_until_exit(
            Export(self.output, "predictions", "columns", options.storage_options)
        )

    def bring(self, columns: Sequence[OutputColumn]) -> Any:
        """Return the DataFrame; it reads files that go with this process."""
        read = self._session.read.parquet
        return read(self.data.url).join(read(self.output), _ROW).drop(_ROW)


class ReturnedPairs:
    """An RDD of ``(key, prediction)``, with the keys that it came with.

    Keys go to the workers as bytes that nobody decodes there, and come back so.

    Parameters
    ----------
    rdd : pyspark RDD
        Of keyed features.
    options : SourceOptions
    """

    key: str = _KEY

    def __init__(self, rdd: Any, options: SourceOptions) -> None:
        self._session = session_of(rdd)
        directory, storage = options.export_directory, options.storage_options
        self.options = options
        self.data = exported(rdd, directory, None, storage)
        above = export_directory(self._session, directory, storage)
        self.output = join_url(above, f"daskdl-predictions-{uuid.uuid4().hex}")
        kept_until_exit(Export(self.output, "predictions", "columns", storage))

    def bring(self, columns: Sequence[OutputColumn]) -> Any:
        """Return the RDD; it reads files that go with this process."""
        outputs = [(one.name, one.shape, one.dtype) for one in columns]

        def pairs(rows: Any) -> Iterator[tuple[Any, Any]]:
            # Imported there: executors need numpy and nothing of this package.
            import pickle

            import numpy

            for row in rows:
                arrays = []
                for name, shape, dtype in outputs:
                    value = row[name]
                    value = value.toArray() if hasattr(value, "toArray") else value
                    arrays.append(numpy.asarray(value, dtype).reshape(shape))
                key = pickle.loads(bytes(row["key"]))
                yield key, arrays[0] if len(arrays) == 1 else tuple(arrays)

        return self._session.read.parquet(self.output).rdd.mapPartitions(pairs)
