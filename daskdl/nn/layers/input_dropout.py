"""Dropout of a layer's input, as DL4J's `dropOut` does it."""

from collections.abc import Hashable

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError


class InputDropout:
    """Keep each number with a probability in training, divided by it.

    Parameters
    ----------
    keep_probability : float in (0, 1], or None
        None and 1 keep everything.
    owner : str
        Name of the layer; its buffers are keyed by it.
    workspace : Workspace
        Lends the arrays.

    References
    ----------
    Srivastava et al., *Dropout*, 2014, in the inverted variant: scaled in training, so
    that inference changes nothing.
    """

    def __init__(
        self, keep_probability: float | None, owner: Hashable, workspace: Workspace
    ) -> None:
        self._keep = 1.0 if keep_probability is None else keep_probability
        self._owner = owner
        self._workspace = workspace
        self._factor: FloatArray | None = None

    def forward(
        self, x: FloatArray, *, training: bool, rng: np.random.Generator | None
    ) -> FloatArray:
        """Return `x` itself, or a buffer with some of its numbers at 0.

        Parameters
        ----------
        x : ndarray
            Not changed.
        training : bool
            Nothing is dropped in inference.
        rng : numpy.random.Generator or None
            Draws on the host, so that CPU and GPU drop the same numbers.

        Raises
        ------
        OptionError
            If something is to be dropped and there is no `rng`.
        """
        self._factor = None
        if not training or self._keep >= 1:
            return x
        if rng is None:
            raise OptionError(
                f"Dropout of {self._owner!r}: training needs a random generator, "
                "got rng=None."
            )
        kept = rng.random(x.shape, dtype=np.float32) < self._keep
        self._factor = self._buffer("factor", x)
        array_namespace(x).multiply(
            to_device(kept, like=x), x.dtype.type(1 / self._keep), out=self._factor
        )
        dropped = self._buffer("dropped", x)
        array_namespace(x).multiply(x, self._factor, out=dropped)
        return dropped

    def backward(self, grad_x: FloatArray) -> FloatArray:
        """Return the gradient in `x` of one in the dropped input, which stays."""
        if self._factor is None:
            return grad_x
        out = self._buffer("grad_x", grad_x)
        array_namespace(grad_x).multiply(grad_x, self._factor, out=out)
        return out

    def _buffer(self, what: str, x: FloatArray) -> FloatArray:
        buffer: FloatArray = self._workspace.take(
            (self._owner, "dropout", what), x.shape, x.dtype
        )
        return buffer
