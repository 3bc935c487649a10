"""What the vectors of several members come to. Pure.

Summed in rank order, element by element: whoever adds up computes the same bits.
"""

from collections.abc import Sequence

import numpy as np

from daskdl.arrays.namespace import FloatArray

# Elements at a time, so that what is between stays in the cache: memory that was just
# asked for costs more than the sums.
_BLOCK = 1 << 14


def weighted_mean(
    vectors: Sequence[FloatArray], examples: Sequence[int], out: FloatArray
) -> None:
    """Write the mean of vectors of shape (n,), weighted by examples, to `out`, (n,).

    Where all are equal it is that to the bit, as for parameters that are frozen: else
    an outer momentum would carry on what was rounded.
    """
    first, *others = vectors
    weights = [out.dtype.type(count / sum(examples)) for count in examples[1:]]
    between = np.empty(min(_BLOCK, len(out)), out.dtype)
    # What is infinite is found, and told, where it is trained.
    with np.errstate(invalid="ignore"):
        for start in range(0, len(out), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(out)))
            mean, change = out[block], between[: block.stop - start]
            np.copyto(mean, first[block])
            for vector, weight in zip(others, weights, strict=True):
                np.subtract(vector[block], first[block], out=change)
                np.multiply(change, weight, out=change)
                mean += change


def plain_sum(
    vectors: Sequence[FloatArray], examples: Sequence[int], out: FloatArray
) -> None:
    """Write the sum of vectors of shape (n,) to `out`, (n,)."""
    np.copyto(out, vectors[0])
    for vector in vectors[1:]:
        out += vector
