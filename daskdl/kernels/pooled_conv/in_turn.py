"""The convolution, then the pooling, with all places between them in scratch."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.kernels.pooling import max_pool_backward, max_pool_forward
from daskdl.kernels.window import Window


def forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    windows: PooledWindows,
    workspace: Workspace,
    out: FloatArray,
    winner: FloatArray,
) -> None:
    """See :func:`daskdl.kernels.pooled_conv.pooled_convolution_forward`."""
    xp = array_namespace(x)
    places = _places(x, weight, windows.window, workspace)
    convolution_forward(x, weight, bias, windows.window, workspace, out=places)
    number = workspace.take("pooled_conv.winner", out.shape, xp.uint32)
    max_pool_forward(places, windows.pool, workspace, out=out, winner=number)
    xp.copyto(winner, number)
    if windows.rectifies:
        xp.maximum(out, 0, out=out)


def backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    windows: PooledWindows,
    workspace: Workspace,
    output: FloatArray,
    winner: FloatArray,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> None:
    """See :func:`daskdl.kernels.pooled_conv.pooled_convolution_backward`."""
    xp = array_namespace(x)
    grad = workspace.take("pooled_conv.grad", output.shape, output.dtype)
    xp.copyto(grad, grad_out)
    if windows.rectifies:
        xp.multiply(grad, output > 0, out=grad)
    number = workspace.take("pooled_conv.winner", output.shape, xp.uint32)
    xp.copyto(number, winner, casting="unsafe")
    places = _places(x, weight, windows.window, workspace)
    max_pool_backward(grad, number, windows.pool, workspace, grad_x=places)
    convolution_backward(
        places,
        x,
        weight,
        windows.window,
        workspace,
        grad_weight=grad_weight,
        grad_bias=grad_bias,
        grad_x=grad_x,
    )


def _places(
    x: FloatArray, weight: FloatArray, window: Window, workspace: Workspace
) -> FloatArray:
    shape = (x.shape[0], *window.out, weight.shape[-1])
    places: FloatArray = workspace.take("pooled_conv.places", shape, x.dtype)
    return places
