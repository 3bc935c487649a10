"""pyarrow's own readers of the same columns."""

import platform

import pyarrow

from benchmarks.serve.loop import Offers, Work, serve
from benchmarks.serve.shapes import ARRAYS, CSV, READING, VECTORS
from benchmarks.serve.table_files import path_of

_OFFERS: Offers = [(READING, what, "") for what in (VECTORS, ARRAYS, CSV)]


def main() -> None:
    """Answer."""
    versions = {"python": platform.python_version(), "pyarrow": pyarrow.__version__}
    serve(versions, _OFFERS, make)


def make(case: str, what: str, variant: str) -> Work:
    """Return a scan by this thread."""
    path = path_of(what)
    return Work(lambda: _csv(path)) if what == CSV else Work(lambda: _parquet(path))


def _csv(path: str) -> int:
    from pyarrow import csv

    # Faster than the reader of blocks, and with all of the file in memory.
    rows: int = csv.read_csv(path, csv.ReadOptions(use_threads=False)).num_rows
    return rows


def _parquet(path: str) -> int:
    from pyarrow import parquet

    batches = parquet.ParquetFile(path).iter_batches(use_threads=False)
    return sum(batch.num_rows for batch in batches)


if __name__ == "__main__":
    main()
