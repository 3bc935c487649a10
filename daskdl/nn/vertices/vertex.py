"""A vertex of a graph that is no layer, at work."""

from collections.abc import Sequence

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.same_diff import counts_twice, doubled
from daskdl.nn.run import Arrays, Masks, VertexBackward, VertexRun
from daskdl.nn.vertices.definition import VertexDefinition, checked_forward


class Vertex:
    """A configured vertex at its place in a graph.

    Parameters
    ----------
    conf : VertexConf
        The configuration, with nothing left open; see :meth:`VertexConf.filled`.
    input_types : sequence of InputType
        What it gets, in the order of its inputs.
    name : str
        The key of the vertex in the graph: its buffers are keyed by it.
    workspace : Workspace
        Lends all its arrays.

    Attributes
    ----------
    output_type : InputType
        What comes out.
    params, gradients : dict of str to ndarray
        Views of the network's flat vectors, empty until :meth:`bind`.

    Raises
    ------
    OptionError
        If the inputs do not fit or the configuration does not say what is computed.
    """

    def __init__(
        self,
        conf: VertexConf,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        if type(conf).forward is VertexConf.forward:
            raise OptionError(
                f"Vertex: the configuration of {name!r} must be of a known vertex, got "
                f"{type(conf).__name__}."
            )
        self.conf = conf
        self.input_types = tuple(map(inside_type, input_types))
        self.output_type = conf.output_type(self.input_types)
        self.name = name
        self.params: dict[str, FloatArray] = {}
        self.gradients: dict[str, FloatArray] = {}
        self.run = VertexRun(
            self.params,
            self.gradients,
            quirks=conf.quirks,
            who=f"{type(conf).__name__} {name!r}",
            name=name,
            workspace=workspace,
            input_types=self.input_types,
            output_type=self.output_type,
        )
        self._counts_twice = counts_twice(conf)
        self._is_own = isinstance(conf, VertexDefinition)
        self._compute = checked_forward(conf) if self._is_own else conf.forward
        self._backward: VertexBackward | None = None

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Take the views to read from and write to; see :meth:`Layer.bind`."""
        self.params = self.run.params = params
        self.gradients = self.run.gradients = gradients

    def initialize(self, rng: np.random.Generator) -> None:
        """Write initial values into the bound parameters, drawn on the host."""
        self.conf.initialize(self.run, rng)

    def forward(
        self,
        inputs: Arrays,
        *,
        masks: Masks,
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Compute the output.

        Parameters
        ----------
        inputs, masks, network_input, network_mask
            As :class:`VertexRun` has them. Not changed.
        batch_size : int
            Examples that arrive with the first input; rows may be their time steps. 0
            stands for the number of rows.

        Returns
        -------
        output : ndarray of shape (rows, *output_type.shape), same dtype
            Valid until the next forward pass; see :meth:`VertexConf.forward`.
        """
        run = self.run
        run.inputs, run.masks = inputs, masks
        run.network_input, run.network_mask = network_input, network_mask
        run.batch_size = batch_size or len(inputs[0])
        output, self._backward = self._compute(run, inputs)
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute the gradients in the inputs of the last forward pass.

        Parameters
        ----------
        grad_out : ndarray of shape (rows, *output_type.shape), same dtype
            Gradient of the loss in the output. Not changed.

        Returns
        -------
        grads : list of ndarray
            Valid until the next backward pass; see :meth:`VertexConf.forward`.
        """
        if self._backward is None:
            raise ShapeError(f"{self.run.who}: backward must follow forward.")
        if self._counts_twice:
            grad_out = doubled(self.run, grad_out)
        return self._backward(grad_out)

    def let_go_of_inputs(self) -> None:
        """Hold no longer what the last forward pass got, unless the way back may."""
        if not self._is_own:
            self.run.inputs = ()

    def forget_pass(self) -> None:
        """Hold no longer what the last forward pass left for the backward pass."""
        self.run.inputs = ()
        self._backward = None

    forget_way_back = forget_pass

    def feed_forward_mask(
        self,
        masks: Masks,
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the mask of the output of the last forward pass.

        For the shapes see :meth:`VertexConf.feed_forward_mask`; arrays are what
        :meth:`forward` got.
        """
        self.run.network_mask = network_mask
        return self.conf.feed_forward_mask(self.run, masks)

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of examples of the output for those of the inputs."""
        return self.conf.batch_size(sizes)

    def rectify(self) -> bool:
        """Rectify the output from now on; see :meth:`Layer.rectify`."""
        self.run.rectifies = self.conf.can_rectify(len(self.input_types))
        return self.run.rectifies
