"""Local response normalization: each channel damped by those around it."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace


def local_response_forward(
    x: FloatArray,
    half_width: int,
    k: float,
    alpha: float,
    beta: float,
    workspace: Workspace,
    *,
    unit: FloatArray,
    out: FloatArray,
) -> FloatArray:
    """Compute ``x * (k + alpha * sum x_near^2)^(-beta)``.

    Parameters
    ----------
    x : ndarray of shape (..., channels)
        Not changed.
    half_width : int
        Near are this many channels on either side, and the channel itself.
    k, alpha, beta : float
        See the formula.
    workspace : Workspace
        Lends scratch of the size of `x`.
    unit : ndarray like x
        Overwritten with what is raised to the power.
    out : ndarray like x
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, *ImageNet Classification with Deep Convolutional
    Neural Networks*, 2012, section 3.3; alpha is not divided by the number of channels.
    """
    xp = array_namespace(x)
    squares = workspace.take("lrn.terms", x.shape, x.dtype)
    xp.multiply(x, x, out=squares)
    _sum_near(squares, half_width, unit)
    unit *= alpha
    unit += k
    xp.power(unit, -beta, out=out)
    out *= x
    return out


def local_response_backward(
    grad_out: FloatArray,
    x: FloatArray,
    output: FloatArray,
    unit: FloatArray,
    half_width: int,
    alpha: float,
    beta: float,
    workspace: Workspace,
    *,
    grad_x: FloatArray,
    by_middle_unit: bool = False,
) -> FloatArray:
    """Compute the gradient of :func:`local_response_forward`.

    Parameters
    ----------
    grad_out : ndarray like x
        Gradient of the loss in the output. Not changed.
    x, output, unit, half_width, alpha, beta
        What the forward pass saw and left. Not changed.
    workspace : Workspace
        Lends scratch of twice the size of `x`.
    grad_x : ndarray like x
        Overwritten.
    by_middle_unit : bool
        Divide the sum by the unit of the channel itself, which is not the derivative:
        it is off by what the units of near channels differ, in parts of ``alpha``.

    Returns
    -------
    grad_x : ndarray
        The array that was given.

    Notes
    -----
    ``grad_out * unit^(-beta) - 2 alpha beta x * sum (grad_out * output / unit)_near``.
    """
    xp = array_namespace(x)
    terms = workspace.take("lrn.terms", x.shape, x.dtype)
    near = workspace.take("lrn.near", x.shape, x.dtype)
    xp.multiply(grad_out, output, out=terms)
    if not by_middle_unit:
        terms /= unit
    _sum_near(terms, half_width, near)
    near *= x
    if by_middle_unit:
        near /= unit
    near *= 2 * alpha * beta
    xp.power(unit, -beta, out=grad_x)
    grad_x *= grad_out
    grad_x -= near
    return grad_x


def _sum_near(x: FloatArray, half_width: int, out: FloatArray) -> None:
    """Write the sums over the channels around each one to `out`."""
    out[...] = x
    for shift in range(1, min(half_width, x.shape[-1] - 1) + 1):
        out[..., shift:] += x[..., :-shift]
        out[..., :-shift] += x[..., shift:]
