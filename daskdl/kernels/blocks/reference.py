"""Blocks as windows that do not overlap: one strided copy for each of their cells."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.window import Window


def space_to_depth_forward(
    x: FloatArray, window: Window, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.blocks.space_to_depth_forward` says."""
    channels = x.shape[-1]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = out[..., cell * channels : (cell + 1) * channels]
        part[windows] = x[inside]
    return out


def space_to_depth_backward(
    grad_out: FloatArray, window: Window, grad_x: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.blocks.space_to_depth_backward` says."""
    channels = grad_x.shape[-1]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = grad_out[..., cell * channels : (cell + 1) * channels]
        grad_x[inside] = part[windows]
    return grad_x


def space_to_batch_forward(
    x: FloatArray, window: Window, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.blocks.space_to_batch_forward` says."""
    if window.is_padded:
        out.fill(0)
    batch = x.shape[0]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = out[cell * batch : (cell + 1) * batch]
        part[windows] = x[inside]
    return out


def space_to_batch_backward(
    grad_out: FloatArray, window: Window, grad_x: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.blocks.space_to_batch_backward` says."""
    batch = grad_x.shape[0]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = grad_out[cell * batch : (cell + 1) * batch]
        grad_x[inside] = part[windows]
    return grad_x
