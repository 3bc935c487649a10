"""Masks in layers and vertices, in which 1 keeps and 0 drops.

Masks have the shape (batch, time), or (batch, 1) for whole examples.
"""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError


def column_mask(mask: FloatArray, n_rows: int, who: str) -> FloatArray:
    """Return the mask as one column that multiplies rows.

    Parameters
    ----------
    mask : ndarray of shape (batch, time), (batch, 1) or (batch,)
        Of series whose steps are the rows, or of examples that are.
    n_rows : int
        Number of rows: batch * time, or batch.
    who : str
        Named in the error.

    Returns
    -------
    column : ndarray of shape (n_rows, 1)
        A view.

    Raises
    ------
    ShapeError
        If the mask has another number of entries.
    """
    if mask.size != n_rows:
        raise ShapeError(
            f"{who}: the mask must have {n_rows} entries, one for each example and "
            f"time step, got shape {mask.shape}."
        )
    return mask.reshape(n_rows, 1)


def rows_of_mask(mask: FloatArray, shape: tuple[int, ...], who: str) -> FloatArray:
    """Return a mask of series as the loss takes it.

    Parameters
    ----------
    mask : ndarray of shape (batch, time) or (batch, time, n_out)
        Of time steps or of single outputs.
    shape : tuple of int
        (batch, time, n_out).
    who : str
        Named in the error.

    Returns
    -------
    ndarray of shape (batch * time,) or (batch * time, n_out)
        A view.

    Raises
    ------
    ShapeError
        If the mask has another shape.
    """
    if mask.shape == shape[:2]:
        return mask.reshape(-1)
    if mask.shape == shape:
        return mask.reshape(-1, shape[2])
    raise ShapeError(
        f"{who}: the mask of the labels must have shape {shape[:2]} or {shape}, "
        f"got {mask.shape}."
    )


def check_step_mask(mask: FloatArray | None, x: FloatArray, who: str) -> None:
    """Refuse a mask that is not (batch, time) of the series `x` (batch, time, n)."""
    if mask is not None and mask.shape != x.shape[:2]:
        raise ShapeError(
            f"{who}: the mask must have shape {x.shape[:2]}, got {mask.shape}."
        )


def check_pixels(mask: FloatArray, pixels: tuple[int, ...], what: str) -> None:
    """Refuse a mask of pixels that has neither their shape nor 1 for some axes.

    Parameters
    ----------
    mask : ndarray
        As it came.
    pixels : tuple of int
        What it masks: the shape that it has if it says something of each pixel.
    what : str
        Whose mask it is, and which: the beginning of the message.

    Raises
    ------
    ShapeError
        If it does not fit, or is of another number of examples.
    """
    fits = (
        mask.ndim == len(pixels)
        and len(mask) == pixels[0]
        and all(came in (1, n) for came, n in zip(mask.shape, pixels, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"{what} must have shape {pixels}, or 1 for some axes, got {mask.shape}."
        )


def either_mask(masks: Sequence[FloatArray | None]) -> FloatArray | None:
    """Return the joined mask of several inputs: any of them keeps a step.

    All are of one shape, such as (batch, time). An input without a mask keeps
    everything, so that there is none for the whole.
    """
    joined = masks[0]
    for mask in masks[1:]:
        if joined is None or mask is None:
            return None
        joined = array_namespace(mask).maximum(joined, mask)
    return joined


def masks_differ(masks: Sequence[FloatArray | None]) -> bool:
    """Return whether inputs have several masks: by identity, not by numbers.

    Masks may be of any shape.
    """
    return any(mask is not masks[0] for mask in masks)


def masks_in_a_row(
    masks: Sequence[FloatArray | None], lengths: Sequence[int]
) -> FloatArray | None:
    """Return the masks of series that follow one another in time.

    Parameters
    ----------
    masks : sequence of (ndarray of shape (batch, time) or None)
        None keeps everything.
    lengths : sequence of int
        How many steps each series has.

    Returns
    -------
    ndarray of shape (batch, sum of the lengths), or None
        None if no series has a mask.
    """
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    some = present[0]
    xp = array_namespace(some)
    joined: FloatArray = xp.ones((len(some), sum(lengths)), some.dtype)
    start = 0
    for mask, length in zip(masks, lengths, strict=True):
        if mask is not None:
            joined[:, start : start + length] = mask
        start += length
    return joined


def stacked_masks(masks: Sequence[FloatArray]) -> FloatArray:
    """Return masks one below the other, 0 behind the steps of shorter series.

    Parameters
    ----------
    masks : sequence of ndarray of shape (batch, time) or (batch, ...)
        Of one number of axes.

    Returns
    -------
    ndarray of shape (all examples, most steps)
        A new array.
    """
    first = masks[0]
    n_rows = sum(len(mask) for mask in masks)
    sizes = [max(size) for size in zip(*(m.shape[1:] for m in masks), strict=True)]
    stacked: FloatArray = array_namespace(first).zeros((n_rows, *sizes), first.dtype)
    start = 0
    for mask in masks:
        rows = slice(start, start + len(mask))
        place = (rows, *(slice(size) for size in mask.shape[1:]))
        stacked[place] = mask
        start = rows.stop
    return stacked


def last_steps(mask: FloatArray) -> NDArray[Any]:
    """Return the index of the last step that the mask keeps of each example.

    Parameters
    ----------
    mask : ndarray of shape (batch, time)

    Returns
    -------
    steps : ndarray of int, shape (batch,)
        The last index of all for an example without any step.
    """
    xp = array_namespace(mask)
    from_the_end: NDArray[Any] = xp.argmax(mask[:, ::-1] > 0, axis=1)
    steps: NDArray[Any] = mask.shape[1] - 1 - from_the_end
    return steps


def lengths_of(mask: FloatArray) -> NDArray[Any]:
    """Return the number of steps of each series, up to the last that the mask keeps.

    Parameters
    ----------
    mask : ndarray of shape (batch, time)

    Returns
    -------
    lengths : ndarray of int, shape (batch,)
        0 for a series without any step.
    """
    xp = array_namespace(mask)
    numbers = (mask > 0) * xp.arange(1, mask.shape[1] + 1)
    lengths: NDArray[Any] = numbers.max(axis=1)
    return lengths


def at_steps(rows: FloatArray, steps: NDArray[Any] | None) -> tuple[Any, Any]:
    """Return the index of one step of each example in series (batch, time, n).

    Parameters
    ----------
    rows : ndarray of shape (batch, ...)
        Anything with a row for each example.
    steps : ndarray of int, shape (batch,), or None
        Which; None is the last one of all.
    """
    if steps is None:
        return slice(None), -1
    return array_namespace(rows).arange(len(rows)), steps


def masked(array: FloatArray, mask: FloatArray | None) -> FloatArray:
    """Return an output with 0 where a mask of its labels drops it.

    Parameters
    ----------
    array : ndarray of shape (batch, ..., n)
        Not changed.
    mask : ndarray of the same shape, or without its last axis or axes, or None
    """
    if mask is None:
        return array
    if mask.ndim == array.ndim:
        return array * mask
    return array * mask.reshape(*mask.shape, *(1,) * (array.ndim - mask.ndim))
