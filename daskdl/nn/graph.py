"""Networks whose layers and vertices form a graph."""

from collections.abc import Sequence
from typing import Any

from daskdl.nn.array_specs import input_spec
from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.network import Network


class ComputationGraph(Network[ComputationGraphConfiguration]):
    """Any number of inputs and outputs, and layers and vertices between them.

    Parameters, attributes and errors are those of
    :class:`~daskdl.nn.network.Network`. Minibatches for several inputs or outputs are
    MultiDataSets, in the order of the configuration's `inputs` and `outputs`.
    Parameters lie in topological order, or in the `order` of the
    configuration.
    """

    # Python names the class that defines it where it is called with other arguments.
    def __init__(
        self,
        conf: ComputationGraphConfiguration,
        params: Any = None,
        *,
        updater_state: Any = None,
    ) -> None:
        super().__init__(conf, params, updater_state=updater_state)

    @property
    def inputs(self) -> list[ArraySpec]:
        """Specs of the inputs, in the order of the configuration."""
        return [
            input_spec(
                f"ComputationGraph input {name!r}",
                input_type,
                [node for node in self._nodes if name in node.inputs],
                self.dtype,
            )
            for name, input_type in self.conf.inputs.items()
        ]

    @property
    def output_nodes(self) -> Sequence[Node]:
        """The nodes of the outputs, in the order of the configuration."""
        by_name = {node.name: node for node in self._nodes}
        return [by_name[name] for name in self.conf.outputs]

    def _input_names(self) -> Sequence[str]:
        return list(self.conf.inputs)
