"""What the configurations of all vertices that are no layers share."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Conf, Names
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun


class VertexConf(Conf):
    """A vertex of a graph that is no layer.

    Parameters
    ----------
    inputs : tuple of str
        The network inputs and vertices it reads, in this order.
    dl4j : mapping
        Properties in a file that change nothing here, kept for the way back.
    """

    # Whether threads may have a part of the examples each; see :class:`LayerConf`.
    can_be_cut: ClassVar[bool] = False
    # Some dialects take the gradient of some vertices twice, see nn.layers.same_diff.
    counts_gradient_twice: ClassVar[bool] = False

    type: str
    inputs: Names = ()
    dl4j: dict[str, Any] = Field(default_factory=dict)

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the type of the output; refuse what cannot go in.

        By itself that of the only input.
        """
        return self.only(input_types)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Return the output, and the function that takes its gradient back.

        Parameters
        ----------
        run : VertexRun
            Masks, network input, parameters, gradients, buffers.
        inputs : sequence of ndarray of shape (batch, ...)
            In the order of the configuration. Not to be changed.

        Returns
        -------
        output : ndarray of shape (rows, *output_type.shape), same dtype
            A buffer, or one of the inputs itself. As many rows as inputs have examples,
            but for vertices that stack or choose examples, or make rows of time steps.
        backward : function of (gradient in the output)
            Returns a gradient for each input, of its shape. Not to be changed: several
            may be one array, or the very gradient that came, which is left as it is.

        Raises
        ------
        ShapeError
            If the arrays do not fit together.
        """
        raise TypeError(f"{type(self).__name__} does not say what it computes.")

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the mask that goes on with the output: the first, unless overridden.

        Parameters
        ----------
        run : VertexRun
        masks : sequence of ndarray of shape (batch, time), (batch, 1), ..., or None
            One for each input. Not to be changed.

        Returns
        -------
        ndarray of shape (rows, time) or (rows, 1), or None
            None masks nothing.
        """
        return masks[0]

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return how many examples come out where `sizes` arrive with the inputs."""
        return sizes[0]

    def initialize(self, run: VertexRun, rng: np.random.Generator) -> None:
        """Draw the initial values of the parameters, on the host."""

    def can_rectify(self, n_inputs: int) -> bool:
        """Return whether :meth:`forward` rectifies the output if the run says so."""
        return False

    def parameters(self, input_types: Sequence[InputType]) -> tuple[Parameter, ...]:
        """Return the parameters in the order in which they lie in the flat vector."""
        return ()

    def filled(
        self,
        defaults: Mapping[str, Any],
        input_types: Sequence[InputType],
        name: str,
    ) -> "VertexConf":
        """Return a copy with nothing left open; see :meth:`LayerConf.filled`."""
        return self

    @property
    def trained(self) -> TrainingOptions | None:
        """The configuration that says how the parameters change, if there are any."""
        return None

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return False

    @property
    def reads_network_input(self) -> str | None:
        """A network input whose length or mask is needed beside `inputs`."""
        return None

    def only(self, input_types: Sequence[InputType]) -> InputType:
        """Return the type of the one input, or refuse several."""
        if len(input_types) != 1:
            raise PathError(f"must be one name, got {self.inputs!r}.", "inputs")
        return input_types[0]
