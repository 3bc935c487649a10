"""Deconvolution by the products that make a convolution's gradient."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.sums import sum_over_places
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import (
    places_to_windows,
    windows_by_places,
    windows_to_places,
)


def deconvolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.deconv.deconvolution_forward` says."""
    matrix = weight.reshape(-1, weight.shape[-1])
    places_to_windows(x, matrix, window, workspace, out=out)
    if bias is not None:
        out += bias
    return out


def deconvolution_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.deconv.deconvolution_backward` says."""
    matrix = weight.reshape(-1, weight.shape[-1])
    grad_matrix = grad_weight.reshape(matrix.shape)
    windows_by_places(grad_out, x, window, workspace, out=grad_matrix)
    if grad_bias is not None:
        sum_over_places(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    return windows_to_places(grad_out, matrix, None, window, workspace, out=grad_x)
