"""Examples written through sinks, as the columns of a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.blocks import joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.pairs import Examples
from daskdl.data.sinks import Sink
from daskdl.data.sources.partition import Partition
from daskdl.errors import DataError

__all__ = ["write_parts"]

# What is held until a part is written: as Dask's own tables have it, some tens of MiB.
_PART_BYTES = 64 << 20


def write_parts(sink: Sink, number: int, partition: Partition, key: str) -> list[str]:
    """Write the examples of a partition as parts of some blocks each.

    Parameters
    ----------
    sink : Sink
    number : int
        Of the partition, for messages.
    partition : Partition
    key : str
        Name of the column of keys, if there are any.

    Returns
    -------
    list of str
        What the sink is to commit, in order; at least one.

    Raises
    ------
    DataError
        If the examples have masks, or several inputs or outputs.
    """
    paths: list[str] = []
    held: list[Examples] = []
    held_bytes = 0
    for block in partition.load_blocks():
        held.append(block)
        held_bytes += block.nbytes
        if held_bytes >= _PART_BYTES:
            paths.append(sink.write_part(number, _columns(partition, held, key)))
            held, held_bytes = [], 0
    if held or not paths:
        paths.append(sink.write_part(number, _columns(partition, held, key)))
    return paths


def _columns(
    partition: Partition, held: Sequence[Examples], key: str
) -> dict[str, Any]:
    examples = joined_examples(held, [partition.name] * len(held))
    if not isinstance(examples, DataSet):
        raise DataError(
            f"{partition.name}: a table must be of one input and output, got a "
            "MultiDataSet. Export minibatches with export_datasets."
        )
    masks = (examples.features_mask, examples.labels_mask)
    if any(mask is not None for mask in masks):
        raise DataError(
            f"{partition.name}: a table must be of examples without masks, got some. "
            "Export minibatches with export_datasets."
        )
    columns: dict[str, Any] = {}
    if examples.keys is not None:
        columns[key] = partition.stored_keys(examples.keys)
    columns["features"] = _flat(examples.features)
    if examples.labels is not None:
        labels = _flat(examples.labels)
        columns["label"] = labels[:, 0] if labels.shape[1] == 1 else labels
    return columns


def _flat(array: NDArray[Any]) -> NDArray[np.floating[Any]]:
    rows = array.reshape(len(array), int(np.prod(array.shape[1:])))
    return rows if rows.dtype.kind == "f" else rows.astype(np.float64)
