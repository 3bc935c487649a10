"""The vertex that holds another one whose parameters never change."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.kinds import VERTEX_KINDS, AnyOf
from daskdl.nn.conf.layer import TrainedLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.same_diff import as_counted
from daskdl.nn.vertices.vertex import Vertex


class FrozenVertex(VertexConf):
    """Hold a vertex whose parameters never change.

    What is in front of it learns all the same.

    Parameters
    ----------
    vertex : vertex
        The one that is held. Its inputs are those of this one.
    """

    type: Literal["frozen_vertex"] = "frozen_vertex"
    vertex: Annotated[VertexConf, AnyOf(VERTEX_KINDS)]

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return what comes out of the vertex inside."""
        if self.vertex.inputs:
            raise PathError(
                "must be left out: those of the frozen vertex count, got "
                f"{self.vertex.inputs!r}.",
                *("vertex", "inputs"),
            )
        held = self.vertex.model_copy(update={"inputs": self.inputs})
        try:
            return held.output_type(input_types)
        except PathError as error:
            raise error.below("vertex") from None

    def parameters(self, input_types: Sequence[InputType]) -> tuple[Parameter, ...]:
        """Return the parameters of the vertex inside, which never change."""
        return tuple(
            dataclasses.replace(item, role="frozen")
            for item in self.vertex.parameters(input_types)
        )

    def filled(
        self, defaults: Mapping[str, Any], input_types: Sequence[InputType], name: str
    ) -> VertexConf:
        """Return a copy whose vertex has nothing left open."""
        held = self.vertex.filled(defaults, input_types, name)
        return self.model_copy(update={"vertex": held})

    @property
    def trained(self) -> TrainedLayerConf | None:
        """What the vertex inside would say if it learned."""
        return self.vertex.trained

    @property
    def draws_random_numbers(self) -> bool:
        """True if the vertex inside needs random numbers."""
        return self.vertex.draws_random_numbers

    @property
    def reads_network_input(self) -> str | None:
        """The network input that the vertex inside needs."""
        return self.vertex.reads_network_input


class Frozen(Vertex[FrozenVertex]):
    """Another vertex at work."""

    def __init__(
        self,
        conf: FrozenVertex,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        # The table has this vertex in it too.
        from daskdl.nn.vertices.table import build_vertex

        super().__init__(conf, input_types, name, workspace)
        self._held = build_vertex(conf.vertex, input_types, name, workspace)

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Hand the views on to the vertex inside; see :meth:`Vertex.bind`."""
        super().bind(params, gradients)
        self._held.bind(params, gradients)

    def initialize(self, rng: np.random.Generator) -> None:
        """Let the vertex inside draw its initial values."""
        self._held.initialize(rng)

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Compute the output of the vertex inside; see :meth:`Vertex.forward`."""
        return self._held.forward(
            inputs,
            masks=masks,
            network_input=network_input,
            network_mask=network_mask,
            batch_size=batch_size,
        )

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute the gradients of the vertex inside; see :meth:`Vertex.backward`."""
        grad_out = as_counted(self._held.conf, grad_out, self.name, self._workspace)
        return self._held.backward(grad_out)

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the mask of the vertex inside.

        See :meth:`Vertex.feed_forward_mask`.
        """
        return self._held.feed_forward_mask(masks, network_mask=network_mask)

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return how many examples come out of the vertex inside."""
        return self._held.batch_size(sizes)
