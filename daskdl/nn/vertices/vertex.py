"""What every vertex of a graph that is no layer can do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.vertex import VertexConf

C = TypeVar("C", bound=VertexConf)


class Vertex(ABC, Generic[C]):
    """A vertex at work: what it is, says its configuration.

    Parameters
    ----------
    conf : VertexConf
        The configuration.
    input_types : sequence of InputType
        What it gets, in the order of its inputs.
    name : str
        The key of the vertex in the graph.
    workspace : Workspace
        Lends all its arrays.

    Attributes
    ----------
    output_type : InputType
        What comes out.
    params, gradients : dict of str to ndarray
        Views of the network's flat vectors, empty until :meth:`bind`.
    """

    def __init__(
        self,
        conf: C,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        self.conf = conf
        self.input_types = tuple(input_types)
        self.output_type = conf.output_type(self.input_types)
        self.name = name
        self.params: dict[str, FloatArray] = {}
        self.gradients: dict[str, FloatArray] = {}
        self._workspace = workspace
        self._kept: list[FloatArray | None] = []

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Take the views to read parameters from and write gradients to.

        Parameters
        ----------
        params, gradients : dict of str to ndarray
            By the names and with the shapes of ``conf.parameters``: (n_in, n_out) for
            weights.
        """
        self.params = params
        self.gradients = gradients

    def initialize(self, rng: np.random.Generator) -> None:
        """Write initial values into the bound parameters, drawn on the host.

        A vertex without parameters has nothing to do.
        """

    @abstractmethod
    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Compute the output.

        Parameters
        ----------
        inputs : sequence of ndarray of shape (batch, ...)
            In the order of the configuration. Not changed.
        masks : sequence of ndarray of shape (batch, time) or None
            The mask that comes with each input.
        network_input, network_mask : ndarray or None
            Features, as they are inside the network, and mask of the network input
            that ``conf.reads_network_input`` names.
        batch_size : int
            Examples that arrive with the first input; rows may be their time steps. 0
            stands for the number of rows.

        Returns
        -------
        output : ndarray of shape (rows, *output_type.shape), same dtype
            A buffer of this vertex, or one of the inputs itself; valid until the next
            forward pass. As many rows as inputs have examples, but for vertices that
            stack or choose examples, or make rows of time steps.

        Raises
        ------
        ShapeError
            If the arrays do not fit together.
        """

    @abstractmethod
    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute the gradients in the inputs of the last forward pass.

        Parameters
        ----------
        grad_out : ndarray of shape (rows, *output_type.shape), same dtype
            Gradient of the loss in the output. Not changed.

        Returns
        -------
        grads : list of ndarray
            One for each input, of its shape (batch, ...). Not to be changed: several
            may be one array, or `grad_out` itself. Valid until the next backward pass.
        """

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the mask that goes on with the output of the last forward pass.

        Parameters
        ----------
        masks : sequence of ndarray of shape (batch, time), (batch, 1), ..., or None
            One for each input, as :meth:`forward` got them.
        network_mask : ndarray of shape (batch, time), or None
            As :meth:`forward` got it.

        Returns
        -------
        ndarray of shape (rows, time) or (rows, 1), or None
            By itself the mask of the first input. None masks nothing.
        """
        return masks[0]

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return how many examples come out where `sizes` arrive with the inputs."""
        return sizes[0]

    def rectify(self) -> bool:
        """Rectify the output from now on; see :meth:`Layer.rectify`."""
        return False

    @property
    def who(self) -> str:
        """Class and name, for messages."""
        return f"{type(self.conf).__name__} {self.name!r}"

    def _buffer(self, what: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return self._workspace.take((self.name, what), shape, dtype)

    def _unpadded(
        self, inputs: Sequence[FloatArray], masks: Sequence[FloatArray | None]
    ) -> list[FloatArray]:
        """Return the inputs with 0 at the steps of series that their masks drop."""
        sees_padding = "vertices_see_padding" in self.conf.quirks
        self._kept = [
            None if sees_padding else _factor_of_steps(x, mask)
            for x, mask in zip(inputs, masks, strict=True)
        ]
        return self._of_kept_steps("unpadded", inputs)

    def _of_kept_steps(
        self, what: str, arrays: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return arrays like the inputs with 0 where :meth:`_unpadded` made it."""
        found = []
        for index, (array, kept) in enumerate(zip(arrays, self._kept, strict=True)):
            if kept is None:
                found.append(array)
                continue
            out = self._buffer((what, index), array.shape, array.dtype)
            found.append(array_namespace(array).multiply(array, kept, out=out))
        return found

    def _check_same_shape(self, inputs: Sequence[FloatArray]) -> None:
        shapes = {array.shape for array in inputs}
        if len(shapes) > 1:
            came = ", ".join(str(array.shape) for array in inputs)
            raise ShapeError(f"{self.who}: inputs must have one shape, got {came}.")


def _factor_of_steps(x: FloatArray, mask: FloatArray | None) -> FloatArray | None:
    """Return the mask as a factor of series (batch, time, n); None of anything else."""
    if mask is None or x.ndim != 3 or mask.shape != x.shape[:2]:
        return None
    return mask[:, :, None]
