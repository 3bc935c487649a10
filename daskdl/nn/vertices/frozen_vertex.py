"""The vertex that holds another one whose parameters never change."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.kinds import VERTEX_KINDS, AnyOf
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.same_diff import counts_twice, doubled
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun


class FrozenVertex(VertexConf):
    """Hold a vertex whose parameters never change.

    What is in front of it learns all the same.

    Parameters
    ----------
    vertex : vertex
        The one that is held. Its inputs are those of this one.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["frozen_vertex"] = "frozen_vertex"
    vertex: Annotated[VertexConf, AnyOf(VERTEX_KINDS)]

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the output type of the vertex inside."""
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
    def trained(self) -> TrainingOptions | None:
        """Training options of the vertex inside, as if it learned."""
        return self.vertex.trained

    @property
    def reads_network_input(self) -> str | None:
        """The network input that the vertex inside needs."""
        return self.vertex.reads_network_input

    def initialize(self, run: VertexRun, rng: np.random.Generator) -> None:
        """Let the vertex inside draw its initial values."""
        self.vertex.initialize(run, rng)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Compute the pass of the vertex inside; see :meth:`VertexConf.forward`."""
        held = self.vertex
        output, back = held.forward(run, inputs)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            return back(doubled(run, grad_out) if counts_twice(held) else grad_out)

        return output, backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return its mask; see :meth:`VertexConf.feed_forward_mask`."""
        return self.vertex.feed_forward_mask(run, masks)

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of examples of the vertex inside."""
        return self.vertex.batch_size(sizes)
