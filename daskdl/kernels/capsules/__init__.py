"""Capsules: squashed vectors, and routing between layers of them by agreement.

References
----------
S. Sabour, N. Frosst and G. E. Hinton, "Dynamic Routing Between Capsules", NIPS 2017.
The variant is DL4J's: `EPSILON` stands under the root of equation 1, a bias may be
added before it, and gradients flow through every iteration of the routing.
"""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.capsules import reference
from daskdl.kernels.capsules.routing import Routing


def squash_forward(x: FloatArray, *, out: FloatArray) -> FloatArray:
    """Shorten vectors to a length below 1 (equation 1).

    Parameters
    ----------
    x : ndarray of shape (..., dimensions), float
        Not changed, unless it is `out`.
    out : ndarray like x
        Overwritten with ``x * n / ((1 + n) * sqrt(n + 1e-5))``, where n is the square
        of the length; may be `x` itself.

    Returns
    -------
    out : ndarray
    """
    return reference.squash_forward(x, out)


def squash_backward(
    grad_out: FloatArray, x: FloatArray, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`squash_forward`.

    Parameters
    ----------
    grad_out, x : ndarray of shape (..., dimensions)
        Gradient of the loss in the output; what the forward pass saw. Not changed,
        unless `grad_out` is `grad_x`.
    grad_x : ndarray like x
        Overwritten; may be `grad_out` itself.

    Returns
    -------
    grad_x : ndarray
    """
    return reference.squash_backward(grad_out, x, grad_x)


def route_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    routing: Routing,
    *,
    out: FloatArray,
) -> FloatArray:
    """Send capsules to the capsules that agree with them (procedure 1).

    Parameters
    ----------
    x : ndarray of shape (n_in, batch, n_dimensions), float
        The capsules below, each the rows of one matrix. Not changed.
    weight : ndarray of shape (n_in, capsules * dimensions, n_dimensions), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (capsules, dimensions), same dtype, or None
        Added to what is squashed, in every iteration.
    routing : Routing
        Overwritten; its shapes say how many iterations there are.
    out : ndarray of shape (batch, capsules, dimensions), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
    """
    return reference.route_forward(x, weight, bias, routing, out)


def route_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    routing: Routing,
    workspace: Workspace,
    *,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`route_forward`, through all its iterations.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, capsules, dimensions)
        Gradient of the loss in the output. Not changed.
    x, weight, routing
        As in the forward pass, after it.
    workspace : Workspace
        Lends scratch: twice the predictions.
    grad_weight, grad_bias : ndarray like weight and bias, or None
        C-contiguous. Overwritten with sums over the batch.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    return reference.route_backward(
        grad_out, x, weight, routing, workspace, grad_weight, grad_bias, grad_x
    )


def strength_forward(x: FloatArray, *, out: FloatArray) -> FloatArray:
    """Compute the lengths of vectors.

    Parameters
    ----------
    x : ndarray of shape (batch, dimensions, capsules), float
        Not changed.
    out : ndarray of shape (batch, capsules), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
    """
    return reference.strength_forward(x, out)


def strength_backward(
    grad_out: FloatArray, x: FloatArray, out: FloatArray, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`strength_forward`.

    Parameters
    ----------
    grad_out, x, out : ndarray
        Gradient of the loss in the output; what the forward pass saw and returned.
        Not changed.
    grad_x : ndarray like x
        Overwritten; 0 for a vector of length 0, where there is no gradient.

    Returns
    -------
    grad_x : ndarray
    """
    return reference.strength_backward(grad_out, x, out, grad_x)
