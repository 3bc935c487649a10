"""Local response normalization by shifted sums over the channels."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace


def local_response_forward(
    x: FloatArray,
    half_width: int,
    k: float,
    alpha: float,
    beta: float,
    workspace: Workspace,
    unit: FloatArray,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.lrn.local_response_forward` says."""
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
    grad_x: FloatArray,
    by_middle_unit: bool,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.lrn.local_response_backward` says."""
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
