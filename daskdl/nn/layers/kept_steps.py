"""How recurrent layers obey a mask: they run over the steps that it keeps."""

from typing import Any, TypeVar

from numpy.typing import DTypeLike, NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.kept_steps import gather_steps, scatter_steps

A = TypeVar("A", FloatArray, FloatArray | None)


class KeptSteps:
    """The steps of a minibatch that a mask keeps: what a recurrent layer runs over.

    Where nothing is dropped, arrays are handed on as they are.

    Parameters
    ----------
    mask : ndarray of shape (batch, time), or None
        0 drops a step; None keeps all.
    name : str
        Key of its buffers.
    workspace : Workspace
        Lends them.
    """

    def __init__(
        self, mask: FloatArray | None, name: str, workspace: Workspace
    ) -> None:
        self._mask = None if mask is None or bool(mask.all()) else mask
        self._name = name
        self._workspace = workspace

    def gathered(self, what: str, series: FloatArray) -> FloatArray:
        """Return series (batch, time, n) with the kept steps in front, then zeros."""
        if self._mask is None:
            return series
        out = self._take(what, series.shape, series.dtype)
        return gather_steps(series, self._mask, out=out)

    def room(self, what: str, out: A) -> A:
        """Return where to write kept steps that :meth:`scatter` brings to `out`."""
        if self._mask is None or out is None:
            return out
        return self._take(what, out.shape, out.dtype)

    def scatter(self, gathered: A, out: A) -> A:
        """Write the steps in front to where they were kept, and 0 elsewhere.

        Parameters
        ----------
        gathered : ndarray of shape (batch, time, n), or None
            What :meth:`room` returned, filled.
        out : ndarray like gathered, or None
            Overwritten.
        """
        if self._mask is None or gathered is None or out is None:
            return out
        return scatter_steps(gathered, self._mask, out=out)

    def gathered_mask(self) -> FloatArray | None:
        """Return the mask (batch, time) of gathered series: its ones are in front."""
        if self._mask is None:
            return None
        return self.gathered("mask", self._mask[:, :, None])[:, :, 0]

    def last(self, steps: FloatArray, before: FloatArray | None) -> FloatArray:
        """Return the last kept step of each series, shape (batch, n), a new array.

        Parameters
        ----------
        steps : ndarray of shape (time, batch, n)
            With the kept ones in front.
        before : ndarray of shape (batch, n), or None
            The last of a series of which nothing is kept; None is zeros.
        """
        if self._mask is None:
            whole: FloatArray = steps[-1].copy()
            return whole
        xp = array_namespace(steps)
        count: NDArray[Any] = xp.sum(self._mask != 0, axis=1)
        found = steps[xp.maximum(count - 1, 0), xp.arange(len(count))]
        if before is None:
            before = xp.zeros_like(found)
        last: FloatArray = xp.where((count > 0)[:, None], found, before)
        return last

    def _take(self, what: str, shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
        array: FloatArray = self._workspace.take(
            (self._name, "kept steps", what), shape, dtype
        )
        return array
