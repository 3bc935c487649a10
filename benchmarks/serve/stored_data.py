"""An epoch over Parquet files that no worker could hold, and a bare scan of them."""

from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.loop import Offers, Work, peak_mib
from benchmarks.serve.shapes import DATA, EPOCH, SCAN
from benchmarks.serve.workers import N_WORKERS, begin_peaks, cpu_clock, on_each, opened

_N_FEATURES, _N_CLASSES = 256, 10
# Of small ones the messages would be measured, and not the data.
_BATCH = 1024
# 64 MiB a file, as Spark writes them; a group of rows is a sixteenth of that.
_ROWS = 1 << 16
_GROUP_ROWS = 1 << 12
_MEMORY_LIMIT = "1GiB"


class StoredData:
    """Files and a cluster, which are made for the first work.

    Parameters
    ----------
    stack : ExitStack
        Closes the cluster.
    folder : Path
        Where the files go.
    gigabytes : float
        Of features, in 1e9 bytes; no less than a file for each worker.
    """

    def __init__(self, stack: ExitStack, folder: Path, gigabytes: float) -> None:
        n_rows = gigabytes * 1e9 / (4 * _N_FEATURES)
        # As many for each worker: else one part is cut in two, and loaded twice.
        n_files = N_WORKERS * max(1, round(n_rows / _ROWS / N_WORKERS))
        rows = min(_ROWS, max(_BATCH, round(n_rows / n_files)))
        self._written = cache(lambda: written(folder, n_files, rows))
        self._client = cache(lambda: opened(stack, memory_limit=_MEMORY_LIMIT))

    def offers(self) -> Offers:
        """Return what `make` knows."""
        return [(DATA, EPOCH, ""), (DATA, EPOCH, SCAN)]

    def make(self, what: str, variant: str) -> Work:
        """Return an epoch of training, or a scan by two processes."""
        files, client = self._written(), self._client()
        facts = {"bytes": float(sum(path.stat().st_size for path in files))}
        names = [str(path) for path in files]
        if variant == SCAN:
            shares = [names[rank::N_WORKERS] for rank in range(N_WORKERS)]

            def scan() -> None:
                on_each(client, _scanned, shares)

            return Work(scan, facts=facts, cpu_s=cpu_clock(client))
        front = _front(client)
        held: dict[str, float] = {}

        def fit() -> None:
            front.fit(
                str(files[0].parent),
                features="features",
                label="label",
                batch_size=_BATCH,
                listeners=[],
            )
            peaks = client.run(peak_mib)
            facts["loads"] = front.last_fit.loads / len(files)
            facts["on_top_mib"] = max(peaks[who] - held[who] for who in peaks)
            facts["training_s"] = sum(epoch.wall_s for epoch in front.last_fit.epochs)

        def prepare() -> None:
            held.update(begin_peaks(client))

        return Work(fit, prepare, facts, cpu_clock(client))


def written(folder: Path, n_files: int, n_rows: int) -> list[Path]:
    """Write files of features that do not compress, and labels; return their paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    paths = [folder / f"part-{number:05d}.parquet" for number in range(n_files)]
    rng = np.random.default_rng(0)
    for path in paths:
        features = rng.standard_normal(n_rows * _N_FEATURES, dtype=np.float32)
        places = np.arange(0, len(features) + 1, _N_FEATURES, dtype=np.int32)
        columns = {
            "features": pa.ListArray.from_arrays(places, features),
            "label": rng.integers(0, _N_CLASSES, n_rows).astype(np.int32),
        }
        table = pa.table(columns)
        pq.write_table(table, path, row_group_size=_GROUP_ROWS, use_dictionary=False)
    (folder / "_SUCCESS").touch()
    return paths


def _front(client: Any) -> Any:
    from daskdl.cluster.frontend import DaskMultiLayer
    from daskdl.nn.conf.network import configuration_from_dict

    dense = {"type": "dense", "n_out": 32, "activation": "relu"}
    classes = {"type": "output", "n_out": _N_CLASSES, "loss": "mcxent"}
    conf: Any = configuration_from_dict(
        {
            "input": {"type": "feed_forward", "size": _N_FEATURES},
            "layers": [dense, classes],
            "updater": {"type": "sgd", "learning_rate": 0.01},
        }
    )
    return DaskMultiLayer(client, conf)


def _scanned(paths: list[str]) -> int:
    """Read files as quickly as one thread can, group by group; return their rows."""
    import pyarrow.parquet as pq

    return sum(
        batch.num_rows
        for path in paths
        for batch in pq.ParquetFile(path).iter_batches(_GROUP_ROWS, use_threads=False)
    )
