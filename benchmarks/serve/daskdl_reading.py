"""Files to minibatches, in the thread that asks for them."""

from typing import Any

from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import ARRAYS, CSV, MINIBATCHES, READ, READING, VECTORS
from benchmarks.serve.table_files import FEATURES, LABEL, path_of

OFFERS: Offers = [(READING, what, "") for what in READ]

_COLUMNS: dict[str, dict[str, Any]] = {
    VECTORS: {"features": "features", "label": LABEL},
    ARRAYS: {"features": "features", "label": LABEL},
    CSV: {"format": "csv", "features": FEATURES, "label": LABEL},
    MINIBATCHES: {},
}
_BATCH = 128


def make(case: str, what: str, variant: str) -> Work:
    """Return reading a file, or a folder of DL4J's, from the listing on."""
    from daskdl.data.sources.source import SourceOptions, open_source

    path, columns = path_of(what), _COLUMNS[what]

    def read() -> int:
        source = open_source(path, SourceOptions(**columns))
        return sum(
            len(batch.features)
            for part in source.partitions
            for block in part.load_blocks()
            for batch in block.batches(_BATCH)
        )

    return Work(read)
