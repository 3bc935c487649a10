"""Bound or rescale the gradient of one layer, before regularization.

References
----------
DL4J, ``org.deeplearning4j.nn.conf.GradientNormalization``.
"""

import math
from collections.abc import Sequence

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.names import GradientNormalizationLiteral

# What is divided by where a norm is zero.
_INSTEAD_OF_ZERO = 1e-5


def normalize_gradient(
    kind: GradientNormalizationLiteral,
    threshold: float,
    layer: Sequence[FloatArray],
    params: Sequence[FloatArray],
) -> None:
    """Rescale or clip the gradient of a layer in place.

    Parameters
    ----------
    kind : str
        ``none`` leaves it alone. The two that renormalize divide by the Euclidean
        norm, of the layer or of each parameter; of those that clip, one bounds every
        number and two bound a norm.
    threshold : float
        The bound of those that clip.
    layer : sequence of ndarray of shape (n,)
        The layer's stretches of the flat gradient, one unless something lies between
        them.
    params : sequence of ndarray of shape (m,)
        The same memory, parameter by parameter.
    """
    if kind == "none":
        return
    if kind == "clip_elementwise_absolute_value":
        for vector in layer:
            array_namespace(vector).clip(vector, -threshold, threshold, out=vector)
        return
    for vectors in [layer] if kind.endswith("per_layer") else [[p] for p in params]:
        _rescale(kind, threshold, vectors)


def _rescale(kind: str, threshold: float, vectors: Sequence[FloatArray]) -> None:
    squares = (float(array_namespace(each).dot(each, each)) for each in vectors)
    norm = math.sqrt(sum(squares))
    for vector in vectors:
        if kind.startswith("renormalize"):
            vector /= norm or _INSTEAD_OF_ZERO
        elif norm > threshold:
            vector *= threshold / norm
