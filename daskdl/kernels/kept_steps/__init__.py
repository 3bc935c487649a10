"""Series without the steps that a mask drops: the kept ones move to the front.

A recurrent layer that runs over such series never meets a dropped step: its state goes
on from one kept step to the next, wherever the dropped ones lie. Behind the last kept
step it may compute what it likes, since nobody reads it and no gradient comes from it.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.kept_steps import cpu


def gather_steps(
    series: FloatArray, mask: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Move the steps that a mask keeps to the front, in their order.

    Parameters
    ----------
    series : ndarray of shape (batch, time, n)
        Not changed.
    mask : ndarray of shape (batch, time), same dtype
        0 drops a step, everything else keeps it.
    out : ndarray like series
        Overwritten; 0 behind the last step that is kept.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if is_compiled_for(series, mask, out):
        cpu.gather_steps(series, mask, out)
        return out
    xp = array_namespace(series)
    # Sorted by whether they are dropped, steps are those kept, in order, and the rest.
    order = xp.argsort(mask == 0, axis=1, kind="stable")
    is_kept = xp.take_along_axis(mask != 0, order, axis=1)[:, :, None]
    moved = xp.take_along_axis(series, order[:, :, None], axis=1)
    out[...] = xp.where(is_kept, moved, xp.zeros_like(moved))
    return out


def scatter_steps(
    gathered: FloatArray, mask: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Bring back where they were the steps that :func:`gather_steps` moved.

    This is also its gradient, as it is the gradient of this one.

    Parameters
    ----------
    gathered : ndarray of shape (batch, time, n)
        The steps that are kept, in front. Not changed; the rest is not read.
    mask : ndarray of shape (batch, time), same dtype
        As there.
    out : ndarray like gathered
        Overwritten; 0 at the steps that are dropped.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if is_compiled_for(gathered, mask, out):
        cpu.scatter_steps(gathered, mask, out)
        return out
    xp = array_namespace(gathered)
    is_kept = mask != 0
    # How many were kept in front of a step is where it went.
    position = xp.maximum(xp.cumsum(is_kept, axis=1) - 1, 0)
    moved = xp.take_along_axis(gathered, position[:, :, None], axis=1)
    out[...] = xp.where(is_kept[:, :, None], moved, xp.zeros_like(moved))
    return out
