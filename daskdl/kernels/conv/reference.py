"""Convolution as one copy into rows of windows and one matrix product.

The rows are made again in the backward pass: the copy takes a quarter of the product's
time, and kept rows would have to come back from a slower cache.
"""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.sums import sum_over_places
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import (
    places_to_windows,
    windows_by_places,
    windows_to_places,
)


def convolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    rectifies: bool,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.conv.convolution_forward` says."""
    matrix = weight.reshape(-1, weight.shape[-1])
    return windows_to_places(
        x, matrix, bias, window, workspace, rectifies=rectifies, out=out
    )


def convolution_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.conv.convolution_backward` says."""
    matrix = weight.reshape(-1, weight.shape[-1])
    grad_matrix = grad_weight.reshape(matrix.shape)
    windows_by_places(x, grad_out, window, workspace, out=grad_matrix)
    if grad_bias is not None:
        sum_over_places(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    return places_to_windows(grad_out, matrix, window, workspace, out=grad_x)
