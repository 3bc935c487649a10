"""Steps moved to the front and back by the array library's own indexing."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def gather_steps(series: FloatArray, mask: FloatArray, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.kept_steps.gather_steps` says."""
    xp = array_namespace(series)
    # Sorted by whether they are dropped, steps are those kept, in order, and the rest.
    order = xp.argsort(mask == 0, axis=1, kind="stable")
    is_kept = xp.take_along_axis(mask != 0, order, axis=1)[:, :, None]
    moved = xp.take_along_axis(series, order[:, :, None], axis=1)
    out[...] = xp.where(is_kept, moved, xp.zeros_like(moved))
    return out


def scatter_steps(
    gathered: FloatArray, mask: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.kept_steps.scatter_steps` says."""
    xp = array_namespace(gathered)
    is_kept = mask != 0
    # How many were kept in front of a step is where it went.
    place = xp.maximum(xp.cumsum(is_kept, axis=1) - 1, 0)
    moved = xp.take_along_axis(gathered, place[:, :, None], axis=1)
    out[...] = xp.where(is_kept[:, :, None], moved, xp.zeros_like(moved))
    return out
