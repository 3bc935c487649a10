"""What the vectors of several members come to. Pure.

Summed in rank order, element by element: whoever adds up computes the same bits.
"""

from collections.abc import Sequence

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.weighted_mean import add_share


def weighted_mean(
    vectors: Sequence[FloatArray], examples: Sequence[int], out: FloatArray
) -> None:
    """Write the mean of vectors of shape (n,), weighted by examples, to `out`, (n,).

    `out` is an array of its own, or, of two vectors, one of them.

    Where all are equal it is that to the bit, as for parameters that are frozen: else
    an outer momentum would carry on what was rounded.
    """
    first, *others = vectors
    base, n_examples = first, sum(examples)
    for vector, count in zip(others, examples[1:], strict=True):
        weight = out.dtype.type(count / n_examples)
        base = add_share(base, vector, first, weight, out=out)
    if base is first:
        np.copyto(out, first)


def plain_sum(
    vectors: Sequence[FloatArray], examples: Sequence[int], out: FloatArray
) -> None:
    """Write the sum of vectors of shape (n,) to `out`, (n,)."""
    np.copyto(out, vectors[0])
    for vector in vectors[1:]:
        out += vector
