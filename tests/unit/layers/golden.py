"""What DL4J 1.0.0-M2.1 computed for activations and losses."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "data" / "nn_math"


def names(prefix):
    """Return the cases whose file begins with `prefix`, without it."""
    paths = sorted(FOLDER.glob(f"{prefix}_*.npz"))
    return [path.stem.removeprefix(f"{prefix}_") for path in paths]


def load(prefix, name):
    with np.load(FOLDER / f"{prefix}_{name}.npz") as arrays:
        return dict(arrays)
