"""Networks whose layers and vertices form a graph."""

from collections.abc import Sequence

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.batches import Port
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.layers.stage import Stage
from daskdl.nn.network import Network

_Mask = FloatArray | None


class ComputationGraph(Network[ComputationGraphConfiguration]):
    """Any number of inputs and outputs, and layers and vertices between them.

    Parameters, attributes and errors are those of
    :class:`~daskdl.nn.network.Network`. Minibatches for several inputs or outputs are
    MultiDataSets, in the order of the configuration's `inputs` and `outputs`.
    Parameters lie in topological order, as DL4J computes it.
    """

    @property
    def inputs(self) -> list[Port]:
        """What goes in, in the order of the configuration."""
        return [
            Port(f"ComputationGraph input {name!r}", input_type)
            for name, input_type in self.conf.inputs.items()
        ]

    def _output_nodes(self) -> Sequence[Node]:
        by_name = {node.name: node for node in self._nodes}
        return [by_name[name] for name in self.conf.outputs]

    def _forward(
        self,
        features: list[FloatArray],
        masks: list[_Mask],
        *,
        training: bool,
        rng: np.random.Generator | None,
    ) -> list[FloatArray]:
        values = dict(zip(self.conf.inputs, features, strict=True))
        flowing = dict(zip(self.conf.inputs, masks, strict=True))
        batch_size = len(features[0])
        for node, part in self._parts:
            inputs = [values[name] for name in node.inputs]
            arriving = [flowing[name] for name in node.inputs]
            if isinstance(part, Stage):
                values[node.name], flowing[node.name] = part.forward(
                    inputs[0],
                    training=training,
                    mask=arriving[0],
                    rng=rng,
                    batch_size=batch_size,
                )
                continue
            reference = part.conf.reads_network_input
            values[node.name] = part.forward(
                inputs,
                masks=arriving,
                network_input=values[reference] if reference else None,
                network_mask=flowing[reference] if reference else None,
            )
            flowing[node.name] = part.feed_forward_mask(
                arriving, network_mask=flowing[reference] if reference else None
            )
        return [values[name] for name in self.conf.outputs]

    def _backward(self, labels: list[FloatArray], masks: list[_Mask]) -> None:
        targets = dict(
            zip(self.conf.outputs, zip(labels, masks, strict=True), strict=True)
        )
        arrived: dict[str, FloatArray] = {}
        for node, part in reversed(self._parts):
            grads: Sequence[FloatArray | None]
            if isinstance(part, Stage) and node.name in targets:
                grads = [part.backward_loss(*targets[node.name])]
            elif node.name not in self._learning or node.name not in arrived:
                continue
            elif isinstance(part, Stage):
                grads = [part.backward(arrived[node.name])]
            else:
                grads = part.backward(arrived[node.name])
            for name, grad in zip(node.inputs, grads, strict=True):
                if grad is not None and name in self._learning:
                    self._accumulate(arrived, name, grad)

    def _accumulate(
        self, arrived: dict[str, FloatArray], name: str, grad: FloatArray
    ) -> None:
        """Add a gradient to those that arrived at `name` from other readers.

        The sum has a buffer of its own: what a part returns stays as it is, because
        a vertex may hand the same array on.
        """
        if name not in arrived:
            arrived[name] = grad
            return
        total = self._workspace.take(("sum", name), grad.shape, grad.dtype)
        array_namespace(grad).add(arrived[name], grad, out=total)
        arrived[name] = total
