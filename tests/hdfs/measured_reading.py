"""Measure how fast files on a mini HDFS become minibatches.

    python -m tests.hdfs.measured_reading

Beside what hdfs-native alone takes for the bytes, and the reader for the same files on
a local disk: milliseconds, the least of seven rounds in which they take turns. The
HDFS is on this machine and shares its cores.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hdfs_native
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from daskdl import DataSet, SourceOptions, open_source
from daskdl_bridge.storage import filesystem
from tests.hdfs.conftest import load_minihdfs

ROUNDS = 7
BATCH = 128
RAW_BYTES = 8 << 20
# What is written: two files of rows of floats, and minibatches of pictures.
ROWS, WIDTH = 400_000, 64
MINIBATCHES, PICTURE = 32, (3, 32, 32)
FORMS: dict[str, dict[str, Any]] = {
    "parquet": {"features": "features", "label": "label"},
    "minibatches": {},
}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = load_minihdfs().MiniHDFS(Path(folder) / "hdfs", ha=False, datanodes=1)
        cluster.start()
        os.environ.update(cluster.env)
        try:
            measure(cluster.uri, Path(folder))
        finally:
            cluster.stop()


def measure(root: str, folder: Path) -> None:
    """Write files, and tell how long each way of reading them takes."""
    write_parquet(folder / "parquet")
    write_minibatches(folder / "minibatches")
    fs, _ = filesystem(root)
    client = hdfs_native.Client(root)
    for form, columns in FORMS.items():
        fs.put(str(folder / form), f"/{form}", recursive=True)
        took = least_ms(
            {
                "hdfs-native alone": lambda at=f"/{form}": raw(client, at),
                "from HDFS": lambda at=f"{root}/{form}", c=columns: read(at, c),
                "from a disk": lambda at=str(folder / form), c=columns: read(at, c),
            }
        )
        mb = sum(file.stat().st_size for file in (folder / form).iterdir()) / 1e6
        told = ", ".join(f"{what} {ms:.0f} ms" for what, ms in took.items())
        sys.stdout.write(f"{form}, {mb:.0f} MB: {told}\n")


def write_parquet(folder: Path) -> None:
    rng = np.random.default_rng(0)
    values = pa.array(rng.random(ROWS * WIDTH, dtype=np.float32))
    lists = pa.FixedSizeListArray.from_arrays(values, WIDTH).cast(pa.list_(values.type))
    table = pa.table({"features": lists, "label": rng.integers(0, 10, ROWS)})
    folder.mkdir()
    half = ROWS // 2
    for number in range(2):
        path = folder / f"part-{number}.parquet"
        pq.write_table(table.slice(number * half, half), path, row_group_size=half)


def write_minibatches(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(MINIBATCHES):
        pictures = rng.random((BATCH, *PICTURE), dtype=np.float32)
        labels = np.eye(10, dtype=np.float32)[rng.integers(0, 10, BATCH)]
        DataSet(pictures, labels).save(f"{folder}/dataset_{number}.bin")


def raw(client: Any, folder: str) -> None:
    for file in client.list_status(folder):
        with client.read(file.path) as stream:
            while stream.read(RAW_BYTES):
                pass


def read(url: str, columns: dict[str, Any]) -> None:
    source = open_source(url, SourceOptions(**columns, require_success=False))
    for partition in source.partitions:
        for block in partition.load_blocks():
            for _ in block.batches(BATCH):
                pass


def least_ms(ways: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Let ways of reading take turns; return the least time of each."""
    times: dict[str, list[float]] = {what: [] for what in ways}
    for _ in range(ROUNDS):
        for what, way in ways.items():
            begin_s = time.perf_counter()
            way()
            times[what].append(1e3 * (time.perf_counter() - begin_s))
    return {what: min(took) for what, took in times.items()}


if __name__ == "__main__":
    main()
