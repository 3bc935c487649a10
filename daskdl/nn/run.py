"""What a layer works with in a pass: parameters, gradients, mask, random numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.dialects import Quirks
from daskdl.nn.conf.input_type import FeedForward, InputType

Backward: TypeAlias = Callable[[FloatArray], FloatArray | None]


@dataclass
class Run:
    """What a layer works with in one forward and backward pass.

    Attributes
    ----------
    params, gradients : dict of str to ndarray
        By the names of :meth:`LayerDefinition.parameters`; views of the network's flat
        vectors. Write gradients into them: ``run.gradients["W"][...] = ...``, summed
        over the examples.
    training : bool
        Whether random numbers and statistics of the minibatch are on.
    mask : ndarray of shape (batch, time), (batch, 1), or None
        1 keeps, 0 drops.
    rng : numpy.random.Generator or None
        In training, for layers that say `draws`.
    needs_grad_x : bool
        Whether anybody reads the gradient in the input; if not, what takes the gradient
        back may return None.
    needs_gradients : bool
        Whether anybody reads the gradients of the parameters; they may be written all
        the same.
    quirks : frozenset of str
        Of the network's dialect; empty in ``exact``.
    input_type : InputType
        What comes in.
    who : str
        What messages call the layer.
    name : str
        Unique in the network: the layer's buffers are keyed by it.
    workspace : Workspace
        Lends all arrays.
    """

    params: dict[str, FloatArray]
    gradients: dict[str, FloatArray]
    training: bool = False
    mask: FloatArray | None = None
    rng: np.random.Generator | None = None
    needs_grad_x: bool = True
    needs_gradients: bool = True
    quirks: Quirks = frozenset()
    input_type: InputType = field(default_factory=lambda: FeedForward(size=1))
    who: str = ""
    name: str = ""
    workspace: Workspace = field(default_factory=Workspace)

    def buffer(self, what: str, shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
        """Return an array that every iteration uses again, with what was in it.

        Parameters
        ----------
        what : str
            Its name within the layer.
        shape : tuple of int
        dtype : dtype

        Returns
        -------
        ndarray of `shape`
        """
        array: FloatArray = self.workspace.take((self.name, what), shape, dtype)
        return array
