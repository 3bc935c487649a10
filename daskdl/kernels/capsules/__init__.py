"""Capsules: squashed vectors, and routing between layers of them by agreement.

Predictions lie capsule by capsule of the input, so that each is one matrix product and
sums over them run along contiguous arrays.

References
----------
S. Sabour, N. Frosst and G. E. Hinton, "Dynamic Routing Between Capsules", NIPS 2017.
The variant is DL4J's: `EPSILON` stands under the root of equation 1, a bias may be
added before it, and gradients flow through every iteration of the routing.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.capsules.routing import Routing
from daskdl.kernels.einsum import einsum_into

EPSILON = 1e-5


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
    xp = array_namespace(x)
    squares = _squares(x)
    factor = squares / ((1 + squares) * xp.sqrt(squares + EPSILON))
    squashed: FloatArray = xp.multiply(x, factor, out=out)
    return squashed


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
    xp = array_namespace(x)
    squares = _squares(x)
    above, root = 1 + squares, xp.sqrt(squares + EPSILON)
    along = xp.einsum("...d,...d->...", x, grad_out)[..., None]
    slope = (1 / above - squares / (2 * (squares + EPSILON))) / (above * root)
    xp.multiply(grad_out, squares / (above * root), out=grad_x)
    grad_x += x * (2 * slope * along)
    return grad_x


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
    xp = array_namespace(x)
    predictions = routing.predictions
    n_in, batch, capsules, dimensions = predictions.shape
    flat = predictions.reshape(n_in, batch, capsules * dimensions)
    xp.matmul(x, weight.transpose(0, 2, 1), out=flat)
    for iteration, (coupling, total) in enumerate(
        zip(routing.couplings, routing.sums, strict=True)
    ):
        if iteration == 0:
            coupling.fill(1 / capsules)
            agreement = xp.zeros_like(coupling)
        else:
            agreement += xp.einsum("ibcd,bcd->ibc", predictions, out)
            _softmax(agreement, coupling)
        einsum_into(total, "ibc,ibcd->bcd", coupling, predictions)
        if bias is not None:
            total += bias
        squash_forward(total, out=out)
    return out


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
    xp = array_namespace(x)
    predictions = routing.predictions
    shape, dtype = predictions.shape, predictions.dtype
    grad_predictions = workspace.take("capsules.predictions", shape, dtype)
    grad_predictions.fill(0)
    if grad_bias is not None:
        grad_bias.fill(0)
    _route_back(grad_out, routing, workspace, grad_predictions, grad_bias)
    grad_rows = grad_predictions.reshape(*shape[:2], -1)
    xp.matmul(grad_rows.transpose(0, 2, 1), x, out=grad_weight)
    if grad_x is None:
        return None
    product: FloatArray = xp.matmul(grad_rows, weight, out=grad_x)
    return product


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
    xp = array_namespace(x)
    einsum_into(out, "bdc,bdc->bc", x, x)
    lengths: FloatArray = xp.sqrt(out, out=out)
    return lengths


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
    xp = array_namespace(x)
    # Where the length is 0 so is x: any divisor but 0 gives the gradient 0.
    factor = grad_out / xp.where(out == 0, xp.ones_like(out), out)
    product: FloatArray = xp.multiply(x, factor[:, None], out=grad_x)
    return product


def _route_back(
    grad_out: FloatArray,
    routing: Routing,
    workspace: Workspace,
    grad_predictions: FloatArray,
    grad_bias: FloatArray | None,
) -> None:
    """Add the gradient in the predictions and in the bias, the last iteration first."""
    xp = array_namespace(grad_out)
    predictions = routing.predictions
    product = workspace.take("capsules.product", predictions.shape, predictions.dtype)
    grad_agreement = xp.zeros_like(routing.couplings[0])
    grad_output = grad_out
    for iteration in range(len(routing.sums) - 1, -1, -1):
        total, coupling = routing.sums[iteration], routing.couplings[iteration]
        grad_total = squash_backward(grad_output, total, grad_x=xp.empty_like(total))
        if grad_bias is not None:
            grad_bias += grad_total.sum(axis=0)
        grad_predictions += xp.multiply(coupling[..., None], grad_total, out=product)
        if iteration == 0:
            return
        grad_coupling = xp.einsum("ibcd,bcd->ibc", predictions, grad_total)
        grad_agreement += _softmax_back(grad_coupling, coupling)
        # The agreement is that of all iterations before: it goes on to each of them.
        before = routing.sums[iteration - 1]
        output = squash_forward(before, out=xp.empty_like(before))
        grad_predictions += xp.multiply(grad_agreement[..., None], output, out=product)
        grad_output = xp.einsum("ibc,ibcd->bcd", grad_agreement, predictions)


def _squares(x: FloatArray) -> FloatArray:
    """Return the square of each vector's length, with an axis for its numbers."""
    squares: FloatArray = array_namespace(x).einsum("...d,...d->...", x, x)[..., None]
    return squares


def _softmax(x: FloatArray, out: FloatArray) -> None:
    """Overwrite `out` with the softmax of `x` along the last axis."""
    xp = array_namespace(x)
    xp.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    xp.exp(out, out=out)
    out /= out.sum(axis=-1, keepdims=True)


def _softmax_back(grad: FloatArray, softmax: FloatArray) -> FloatArray:
    xp = array_namespace(grad)
    along = xp.einsum("...c,...c->...", grad, softmax)[..., None]
    gradient: FloatArray = softmax * (grad - along)
    return gradient
