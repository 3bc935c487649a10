"""The magnitude of an update, from which the first threshold is chosen."""

import numpy as np

from daskdl.arrays.namespace import FloatArray

# Enough for a share of 1e-3, and nothing beside the pass through a large update.
_SAMPLE = 4096


def magnitude(update: FloatArray, share: float, *, sampled: bool = False) -> float:
    """Return the magnitude that a share of the elements not 0 reaches: a quantile.

    Parameters
    ----------
    update : ndarray of shape (n,)
        Not changed.
    share : float
        Of the elements that are not 0: an embedding's update has next to none.
    sampled : bool
        Look at some 4,000 elements only, always at the same ones.

    Returns
    -------
    magnitude : float
        NaN where all of them are 0.
    """
    # Odd, so that it does not stay within one column of a layer of 2**k units.
    step = update.size // _SAMPLE | 1 if sampled else 1
    sizes = np.abs(update[::step])
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return float("nan")
    rank = min(int(share * sizes.size), sizes.size - 1)
    place = sizes.size - 1 - rank
    return float(np.partition(sizes, place)[place])
