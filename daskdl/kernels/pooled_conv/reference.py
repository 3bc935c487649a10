"""The convolution, then the pooling, with all places between them in scratch."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import reference as convolution
from daskdl.kernels.pooling import reference as pooling
from daskdl.kernels.window import Window


def forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    pool: Window,
    workspace: Workspace,
    rectifies: bool,
    out: FloatArray,
    winner: FloatArray,
) -> None:
    """Compute what ``pooled_conv.pooled_convolution_forward`` says."""
    xp = array_namespace(x)
    places = _places(x, weight, window, workspace)
    convolution.convolution_forward(x, weight, bias, window, workspace, places)
    number = workspace.take("pooled_conv.winner", out.shape, xp.uint32)
    pooling.max_pool_forward(places, pool, workspace, out, number)
    xp.copyto(winner, number)
    if rectifies:
        xp.maximum(out, 0, out=out)


def backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    pool: Window,
    workspace: Workspace,
    rectifies: bool,
    output: FloatArray,
    winner: FloatArray,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> None:
    """Compute what ``pooled_conv.pooled_convolution_backward`` says."""
    xp = array_namespace(x)
    grad = workspace.take("pooled_conv.grad", output.shape, output.dtype)
    xp.copyto(grad, grad_out)
    if rectifies:
        xp.multiply(grad, output > 0, out=grad)
    number = workspace.take("pooled_conv.winner", output.shape, xp.uint32)
    xp.copyto(number, winner, casting="unsafe")
    places = _places(x, weight, window, workspace)
    pooling.max_pool_backward(grad, number, pool, workspace, places)
    convolution.convolution_backward(
        places, x, weight, window, workspace, grad_weight, grad_bias, grad_x
    )


def _places(
    x: FloatArray, weight: FloatArray, window: Window, workspace: Workspace
) -> FloatArray:
    shape = (x.shape[0], *window.out, weight.shape[-1])
    places: FloatArray = workspace.take("pooled_conv.places", shape, x.dtype)
    return places
