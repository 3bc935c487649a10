"""Predictions as the kind that the data are: a DataFrame, or an RDD of pairs."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from daskdl.checks import some
from daskdl.data.sources.returned import OutputColumn
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl_bridge.spark.export import Export, export, kept_until_exit
from daskdl_bridge.spark.session import session_of

__all__ = ["ReturnedFrame", "ReturnedPairs"]

# Beside the columns of the user, as long as rows and predictions are apart.
_ROW = "_daskdl_row"
_KEY = "key"


class _Returned:
    """Where predictions of what Spark wrote are written, to be read by Spark.

    Attributes
    ----------
    data, options, key, output
        See :class:`daskdl.data.sources.returned.Returned`.
    """

    key: str

    def __init__(self, session: Any, data: Export, options: SourceOptions) -> None:
        self._session = session
        self.data = data
        self.options = options
        # One export may be predicted several times.
        self.output = f"{data.url}-predictions-{uuid.uuid4().hex[:8]}"
        kept_until_exit(
            Export(self.output, "predictions", "columns", options.storage_options)
        )

    def _predictions(self) -> Any:
        return self._session.read.parquet(self.output)


class ReturnedFrame(_Returned):
    """A DataFrame with all its columns, and the predictions behind them.

    Spark writes it once with a number a row, the predictions are keyed by that number,
    and Spark joins both: so that what it has no counterpart for elsewhere stays as it
    is.

    Parameters
    ----------
    frame : pyspark DataFrame
    directory : str or None
        Where Spark writes it.
    options : SourceOptions

    Raises
    ------
    OptionError
        If a column has a name that predictions bear.
    """

    key: str = _ROW

    def __init__(
        self, frame: Any, directory: str | None, options: SourceOptions
    ) -> None:
        from pyspark.sql import functions

        taken = [
            c for c in frame.columns if c.startswith(("prediction", "probability"))
        ]
        if taken:
            raise OptionError(
                "feed_forward_with_key: columns must differ from those of predictions, "
                f"got {some(taken)}. Rename or drop them."
            )
        numbered = frame.withColumn(_ROW, functions.monotonically_increasing_id())
        storage = options.storage_options
        written = export(numbered, directory, storage_options=storage)
        kept_until_exit(written)
        super().__init__(session_of(frame), written, replace(options, key=_ROW))

    def bring(self, columns: Sequence[OutputColumn]) -> Any:
        """Return the DataFrame; it reads files that go with this process."""
        rows = self._session.read.parquet(self.data.url)
        return rows.join(self._predictions(), _ROW).drop(_ROW)


class ReturnedPairs(_Returned):
    """An RDD of ``(key, prediction)``, with the keys that it came with.

    Keys go to the workers as bytes that nobody decodes there, and come back so.

    Parameters
    ----------
    rdd : pyspark RDD
        Of keyed features.
    written : Export
        What Spark wrote of it.
    options : SourceOptions
    """

    key: str = _KEY

    def __init__(self, rdd: Any, written: Export, options: SourceOptions) -> None:
        as_pickles = replace(written, keys="pickles")
        super().__init__(session_of(rdd), as_pickles, options)

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

        return self._predictions().rdd.mapPartitions(pairs)
