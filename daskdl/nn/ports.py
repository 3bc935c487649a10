"""What goes into a network and comes out of it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from daskdl.nn.array_specs import label_specs, option_of, output_specs
from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.topology import Node


class Ports(ABC):
    """A network as those see it who bring data, and read outputs."""

    @property
    @abstractmethod
    def output_nodes(self) -> Sequence[Node]:
        """What the outputs come from, in the order of the labels."""

    @property
    @abstractmethod
    def inputs(self) -> list[ArraySpec]:
        """What goes in, in the order of the features."""

    @property
    def outputs(self) -> list[ArraySpec]:
        """What comes out, in the order of the labels."""
        return output_specs(type(self).__name__, self.output_nodes)

    @property
    def labels(self) -> list[ArraySpec]:
        """What the labels of each output are."""
        return label_specs(type(self).__name__, self.output_nodes)

    @property
    def input_types(self) -> list[InputType]:
        """What an example is, input by input."""
        return [port.type for port in self.inputs]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.output_nodes)

    @property
    def output_layer_n_out(self) -> list[int | None]:
        """Number of features or channels of each output; None where data decide it."""
        return [node.output_type.shape[-1] for node in self.output_nodes]

    @property
    def output_losses(self) -> list[str]:
        """Name of the loss of each output; empty where there is none."""
        return option_of(self.output_nodes, "loss")

    @property
    def output_activations(self) -> list[str]:
        """Name of the activation of each output; empty where there is none."""
        return option_of(self.output_nodes, "activation")


if TYPE_CHECKING:
    HasPorts = Ports
else:
    # What a part of a network may count on that has them in another part.
    HasPorts = ABC
