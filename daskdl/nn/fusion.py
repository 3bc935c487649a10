"""Which layers and vertices do the rectifier behind them, found once for a network.

A rectifier in an :class:`~daskdl.nn.layers.activation.Activation` layer of its own
reads and writes again, forward and backward, what the part in front of it has just
written. Where nobody else reads that, the part in front rectifies as it writes, and
the layer hands arrays through. What comes out is the same.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from daskdl.nn.conf.topology import Node
from daskdl.nn.layers.activation import ActivationLayer
from daskdl.nn.layers.stage import Stage
from daskdl.nn.vertices.vertex import Vertex

_Part: TypeAlias = Stage | Vertex[Any]


def join_rectifiers(
    parts: Sequence[tuple[Node, _Part]], outputs: Iterable[str]
) -> None:
    """Let each part that can do it take over the rectifier that alone reads it.

    Parameters
    ----------
    parts : sequence of (Node, Stage or Vertex)
        Of a network, new.
    outputs : iterable of str
        Names of the nodes whose output leaves the network.
    """
    readers = Counter(name for node, _ in parts for name in node.inputs)
    readers.update(outputs)
    by_name = {node.name: part for node, part in parts}
    for node, part in parts:
        relu, source = _relu(part), by_name.get(node.inputs[0])
        if relu is None or source is None or readers[node.inputs[0]] > 1:
            continue
        worker = source.layer if isinstance(source, Stage) else source
        if worker.rectify():
            relu.leave_to_source()


def _relu(part: _Part) -> ActivationLayer | None:
    """Return the layer of a part that rectifies what arrives, and nothing else."""
    if not isinstance(part, Stage) or part.has_entrance:
        return None
    layer = part.layer
    return layer if isinstance(layer, ActivationLayer) and layer.is_relu else None
