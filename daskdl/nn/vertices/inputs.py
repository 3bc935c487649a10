"""Helpers for the inputs and gradients of vertices."""

from collections.abc import Callable

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.masks import masks_differ
from daskdl.nn.run import Arrays, VertexRun


def unpadded(
    run: VertexRun, inputs: Arrays, *, if_masks_differ: bool = False
) -> tuple[list[FloatArray], Callable[[Arrays], list[FloatArray]]]:
    """Return the inputs with 0 at the steps of series that their masks drop.

    Parameters
    ----------
    run : VertexRun
        Has their masks.
    inputs : sequence of ndarray of shape (batch, time, n) or any other
        Others than series stay as they are.
    if_masks_differ : bool
        Whether to do nothing where all have one mask: what it drops of all is dropped
        of what comes out.

    Returns
    -------
    inputs : list of ndarray
        Of the same shapes.
    unpad : function of (gradients like the inputs)
        Returns these with 0 in the same places.
    """
    masks = run.masks
    sees_padding = "vertices_see_padding" in run.quirks
    if sees_padding or (if_masks_differ and not masks_differ(masks)):
        return list(inputs), list
    kept = list(map(_factor_of_steps, inputs, masks))

    def unpad(what: str, arrays: Arrays) -> list[FloatArray]:
        found = []
        for index, (array, factor) in enumerate(zip(arrays, kept, strict=True)):
            if factor is not None:
                out = run.lent(f"{what} {index}", array.shape, array.dtype)
                array = array_namespace(array).multiply(array, factor, out=out)
            found.append(array)
        return found

    return unpad("unpadded", inputs), lambda grads: unpad("grad unpadded", grads)


def _factor_of_steps(x: FloatArray, mask: FloatArray | None) -> FloatArray | None:
    """Return the mask as a factor of series (batch, time, n); None of other input."""
    if mask is None or x.ndim != 3 or mask.shape != x.shape[:2]:
        return None
    return mask[:, :, None]


def copied(run: VertexRun, what: str, array: FloatArray) -> FloatArray:
    """Return a copy of an array of any shape, lent under a name."""
    copy = run.lent(what, array.shape, array.dtype)
    copy[...] = array
    return copy


def shape_error(run: VertexRun, inputs: Arrays, but: str = "") -> ShapeError:
    """Return the error of inputs that must have one shape, with an exception `but`."""
    came = ", ".join(str(array.shape) for array in inputs)
    return ShapeError(f"{run.who}: inputs must have one shape{but}, got {came}.")
