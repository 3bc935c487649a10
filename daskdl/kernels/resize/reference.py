"""Resizing by whole-array copies. Padding and cutting off undo each other."""

import itertools
from collections.abc import Iterator

from daskdl.arrays.namespace import FloatArray

Side = tuple[int, int]


def upsample_forward(
    x: FloatArray, size: tuple[int, ...], out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.resize.upsample_forward` says."""
    for copies in _copies(size):
        out[copies] = x
    return out


def upsample_backward(
    grad_out: FloatArray, size: tuple[int, ...], grad_x: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.resize.upsample_backward` says."""
    grad_x.fill(0)
    for copies in _copies(size):
        grad_x += grad_out[copies]
    return grad_x


def pad_forward(
    x: FloatArray, sides: tuple[Side, ...], value: float, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.resize.pad_forward` says."""
    out.fill(value)
    out[_inside(out, sides)] = x
    return out


def crop_forward(x: FloatArray, sides: tuple[Side, ...], out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.resize.crop_forward` says."""
    out[...] = x[_inside(x, sides)]
    return out


def _copies(size: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield the indices of the first copy of every cell, of the second, and so on."""
    for offsets in itertools.product(*(range(count) for count in size)):
        steps = zip(offsets, size, strict=True)
        yield (slice(None), *(slice(offset, None, count) for offset, count in steps))


def _inside(array: FloatArray, sides: tuple[Side, ...]) -> tuple[slice, ...]:
    """Return the index of what lies between the sides."""
    sizes = zip(array.shape[1:-1], sides, strict=True)
    return (
        slice(None),
        *(slice(before, size - behind) for size, (before, behind) in sizes),
    )
