"""The digits of ``examples/digits``, and a network that is small enough for many."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.multilayer import MultiLayerNetwork

_DATA = Path(__file__).parents[2] / "examples" / "digits" / "data"
_N_PIXELS = 64
_LARGEST_PIXEL = 16.0


def examples(part: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return pixels from 0 to 1 of shape (rows, 64) and digits of shape (rows,).

    Parameters
    ----------
    part : {'train', 'test'}
        Which of both.
    """
    table = pyarrow.parquet.read_table(_DATA / part)
    rows = [_pixels(vector) for vector in table.column("features").to_pylist()]
    numbers = np.asarray(table.column("label").to_numpy(), np.int64)
    return np.stack(rows) / np.float32(_LARGEST_PIXEL), numbers


def minibatches(
    features: NDArray[np.float32],
    numbers: NDArray[np.int64],
    batch_size: int,
    seed: int,
) -> list[DataSet]:
    """Return the examples in an order that the seed draws; the rest is left out."""
    order = np.random.default_rng(seed).permutation(len(numbers))
    labels = np.eye(10, dtype=np.float32)[numbers]
    starts = range(0, len(order) - batch_size + 1, batch_size)
    return [
        DataSet(features[rows], labels[rows])
        for rows in (order[start : start + batch_size] for start in starts)
    ]


def network(seed: int) -> MultiLayerNetwork:
    """Return a network of 64 hidden units, 4,810 parameters."""
    conf: Any = configuration_from_dict(
        {
            "seed": seed,
            "updater": {"type": "adam", "learning_rate": 0.002},
            "activation": "relu",
            "input": {"type": "feed_forward", "size": _N_PIXELS},
            "layers": [
                {"type": "dense", "n_out": 64},
                {
                    "type": "output",
                    "activation": "softmax",
                    "loss": "mcxent",
                    "n_out": 10,
                },
            ],
        }
    )
    return MultiLayerNetwork(conf)


def _pixels(vector: dict[str, Any]) -> NDArray[np.float32]:
    """Return what Spark keeps as a sparse vector or as a dense one."""
    values = np.asarray(vector["values"], np.float32)
    if vector["indices"] is None:
        return values
    dense = np.zeros(_N_PIXELS, np.float32)
    dense[vector["indices"]] = values
    return dense
