"""Networks whose layers and vertices form a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.batches import Port
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.doors import images_of
from daskdl.nn.layers.same_diff import as_counted
from daskdl.nn.layers.stage import Stage
from daskdl.nn.network import Network
from daskdl.nn.vertices.vertex import Vertex

_Mask = FloatArray | None


@dataclass(frozen=True)
class _Flow:
    """What comes out of a network input, a layer or a vertex."""

    value: FloatArray
    mask: _Mask
    batch_size: int


class ComputationGraph(Network[ComputationGraphConfiguration]):
    """Any number of inputs and outputs, and layers and vertices between them.

    Parameters, attributes and errors are those of
    :class:`~daskdl.nn.network.Network`. Minibatches for several inputs or outputs are
    MultiDataSets, in the order of the configuration's `inputs` and `outputs`.
    Parameters lie in topological order, or in the `order` of the
    configuration.
    """

    @property
    def inputs(self) -> list[Port]:
        """What goes in, in the order of the configuration."""
        return [
            Port(
                f"ComputationGraph input {name!r}",
                input_type,
                images_of(
                    input_type, [n.conf for n in self._nodes if name in n.inputs]
                ),
            )
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
        flows = {
            name: _Flow(array, mask, len(array))
            for name, array, mask in zip(self.conf.inputs, features, masks, strict=True)
        }
        for node, part in self._parts:
            if isinstance(part, Stage):
                came = flows[node.inputs[0]]
                value, mask = part.forward(
                    came.value,
                    training=training,
                    mask=came.mask,
                    rng=rng,
                    batch_size=came.batch_size,
                )
                flows[node.name] = _Flow(value, mask, came.batch_size)
            else:
                flows[node.name] = _through_vertex(part, node.inputs, flows)
        return [flows[name].value for name in self.conf.outputs]

    def _backward(self, labels: list[FloatArray], masks: list[_Mask]) -> None:
        targets = dict(
            zip(self.conf.outputs, zip(labels, masks, strict=True), strict=True)
        )
        arrived: dict[str, FloatArray] = {}
        for node, part in reversed(self._parts):
            grads: Sequence[FloatArray | None]
            if isinstance(part, Stage) and node.name in targets:
                grad = part.backward_loss(*targets[node.name])
                if node.name in arrived:
                    grad = self._with_readers(part, grad, arrived[node.name])
                grads = [grad]
            elif node.name not in self._learning:
                continue
            elif node.name not in arrived:
                _clear_gradients(part)
                continue
            elif isinstance(part, Stage):
                grads = [part.backward(arrived[node.name])]
            else:
                grads = part.backward(self._counted(part, arrived[node.name]))
            for name, grad in zip(node.inputs, grads, strict=True):
                if grad is not None and name in self._learning:
                    self._accumulate(arrived, name, grad)

    def _counted(self, part: Vertex[Any], grad_out: FloatArray) -> FloatArray:
        return as_counted(part.conf, grad_out, part.name, self._workspace)

    def _with_readers(
        self, part: Stage, grad: FloatArray | None, grad_out: FloatArray
    ) -> FloatArray | None:
        """Add what the readers of an output ask for to the gradients of its loss.

        Parameters
        ----------
        part : Stage
            The output layer, whose gradients are those of its loss.
        grad : ndarray or None
            Gradient of its loss in its input.
        grad_out : ndarray
            Gradient that its readers send back.

        Returns
        -------
        ndarray or None
            Gradient of both in its input.
        """
        gradients = part.layer.gradients
        kept = {name: self._kept(part, name, gradients[name]) for name in gradients}
        kept_grad = None if grad is None else self._kept(part, "x", grad)
        grad = part.backward(grad_out)
        for name, view in gradients.items():
            view += kept[name]
        if grad is None or kept_grad is None:
            return None
        array_namespace(grad).add(grad, kept_grad, out=kept_grad)
        return kept_grad

    def _kept(self, part: Stage, what: str, array: FloatArray) -> FloatArray:
        """Return a copy of what the next backward pass overwrites."""
        key = (part.layer.name, "kept", what)
        copy: FloatArray = self._workspace.take(key, array.shape, array.dtype)
        copy[...] = array
        return copy

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


def _through_vertex(
    vertex: Vertex[Any], names: Sequence[str], flows: Mapping[str, _Flow]
) -> _Flow:
    """Return the output, and its mask, of a vertex that reads `names`."""
    came = [flows[name] for name in names]
    reference = vertex.conf.reads_network_input
    named = None if reference is None else flows[reference]
    masks = [flow.mask for flow in came]
    network_mask = None if named is None else named.mask
    value = vertex.forward(
        [flow.value for flow in came],
        masks=masks,
        network_input=None if named is None else named.value,
        network_mask=network_mask,
        batch_size=came[0].batch_size,
    )
    mask = vertex.feed_forward_mask(masks, network_mask=network_mask)
    return _Flow(value, mask, vertex.batch_size([flow.batch_size for flow in came]))


def _clear_gradients(part: Stage | Vertex[Any]) -> None:
    """Set the gradients of what no loss depends on to 0."""
    learner = part.layer if isinstance(part, Stage) else part
    for view in learner.gradients.values():
        view.fill(0)
