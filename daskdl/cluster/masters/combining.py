"""What the vectors of several members come to. Pure.

Summed in rank order, element by element: whoever adds up computes the same bits.
"""

from collections.abc import Sequence

import numpy as np

from daskdl.arrays.namespace import FloatArray


def weighted_mean(
    vectors: Sequence[FloatArray], examples: Sequence[int], out: FloatArray
) -> None:
    """Write the mean of vectors of shape (n,), weighted by examples, to `out`, (n,).

    Where all are equal it is that to the bit, as for parameters that are frozen: else
    an outer momentum would carry on what was rounded.
    """
    first = vectors[0]
    weights = [out.dtype.type(count / sum(examples)) for count in examples]
    np.copyto(out, first)
    # What is infinite is found, and told, where it is trained.
    with np.errstate(invalid="ignore"):
        for vector, weight in zip(vectors[1:], weights[1:], strict=True):
            out += (vector - first) * weight


def plain_sum(
    vectors: Sequence[FloatArray], examples: Sequence[int], out: FloatArray
) -> None:
    """Write the sum of vectors of shape (n,) to `out`, (n,)."""
    np.copyto(out, vectors[0])
    for vector in vectors[1:]:
        out += vector
