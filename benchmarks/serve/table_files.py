"""Tables as Spark writes them, and DL4J's minibatches, for whoever reads them."""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.shapes import ARRAYS, CSV, MINIBATCHES, VECTORS

N_FEATURES, N_CLASSES = 64, 10
FEATURES = [f"x{column}" for column in range(N_FEATURES)]
LABEL = "label"
_ROWS, _TEXT_ROWS = 100_000, 25_000
# Pictures of CIFAR-10, 128 a file.
_FILES, _BATCH, _PIXELS = 32, 128, 3 * 32 * 32


@cache
def folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that goes with this process."""
    return tempfile.TemporaryDirectory(prefix="daskdl-bench-")


@cache
def path_of(what: str) -> str:
    """Return the path of what is to be read, which is written for the first caller."""
    path = Path(folder().name) / what
    _WRITERS[what](path)
    return str(path)


def _write_vectors(path: Path) -> None:
    import pyarrow as pa

    # The struct of Spark's VectorUDT: all of them dense.
    kinds = pa.array(np.ones(_ROWS, np.int8))
    sizes = pa.nulls(_ROWS, pa.int32())
    indices = pa.nulls(_ROWS, pa.list_(pa.int32()))
    values = _lists(np.float64)
    names = ["type", "size", "indices", "values"]
    vectors = pa.StructArray.from_arrays([kinds, sizes, indices, values], names)
    _write_parquet(path, vectors)


def _write_arrays(path: Path) -> None:
    _write_parquet(path, _lists(np.float32))


def _lists(dtype: type) -> Any:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    numbers: Any = rng.random(_ROWS * N_FEATURES).astype(dtype)
    places = np.arange(0, len(numbers) + 1, N_FEATURES, dtype=np.int32)
    return pa.ListArray.from_arrays(places, numbers)


def _write_parquet(path: Path, features: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"features": features, LABEL: _classes(_ROWS)})
    pq.write_table(table, path, use_dictionary=False)


def _write_csv(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv

    numbers = np.random.default_rng(0).random((N_FEATURES, _TEXT_ROWS)).round(6)
    columns = dict(zip(FEATURES, numbers, strict=True))
    table = pa.table({**columns, LABEL: _classes(_TEXT_ROWS)})
    pyarrow.csv.write_csv(table, path)


def _write_minibatches(path: Path) -> None:
    from daskdl.data.dataset import DataSet

    path.mkdir()
    rng = np.random.default_rng(0)
    for number in range(_FILES):
        features = rng.random((_BATCH, _PIXELS), dtype=np.float32)
        labels = np.eye(N_CLASSES, dtype=np.float32)[_classes(_BATCH)]
        DataSet(features, labels).save(str(path / f"dataset_{number}.bin"))


def _classes(n: int) -> Any:
    return np.random.default_rng(1).integers(0, N_CLASSES, n).astype(np.int32)


_WRITERS: dict[str, Callable[[Path], None]] = {
    VECTORS: _write_vectors,
    ARRAYS: _write_arrays,
    CSV: _write_csv,
    MINIBATCHES: _write_minibatches,
}
