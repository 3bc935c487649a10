"""Which layers and vertices do the work of the layer behind them, found once.

A rectifier in an :class:`~daskdl.nn.layers.activation.Activation` layer of its own
reads and writes again, forward and backward, what the part in front of it has just
written. Where nobody else reads that, the part in front rectifies as it writes, and
the layer hands arrays through. So it is with the maximum pooling behind a convolution,
whose places then exist for one image at a time only; and in inference with batch
normalization behind one, whose factors go into the weights. What comes out is the same.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

from daskdl.nn.conf.topology import Node
from daskdl.nn.layers.activation import Activation
from daskdl.nn.layers.batch_normalization import BatchNormalization
from daskdl.nn.layers.definition import DefinedLayer
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.pooling import Subsampling
from daskdl.nn.layers.stage import Stage
from daskdl.nn.vertices.vertex import Vertex

_Part: TypeAlias = Stage | Vertex


def join_parts(parts: Sequence[tuple[Node, _Part]], outputs: Iterable[str]) -> None:
    """Let each part that can do it take over the layer that alone reads it.

    What each layer then does, or leaves to the part in front, is in its `fused`.

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
        source = by_name.get(node.inputs[0])
        if source is None or readers[node.inputs[0]] > 1:
            continue
        if isinstance(part, Stage) and not part.has_entrance:
            _join(part.layer, source)


def _join(layer: Layer[Any], source: _Part) -> None:
    """Let the source do the work of a layer, if both can."""
    conf, left = layer.conf, layer.fused
    is_rectifier = isinstance(conf, Activation) and conf.is_relu
    if isinstance(source, Vertex):
        left.is_done = is_rectifier and source.rectify()
        return
    taken, can_take_over = source.layer.fused, source.layer.conf.can_take_over
    if is_rectifier and can_take_over("rectifier"):
        taken.rectifies = left.is_done = True
    if isinstance(layer, DefinedLayer) and isinstance(conf, BatchNormalization):
        left.is_done_in_inference = can_take_over("normalization")
        if left.is_done_in_inference:
            taken.scaling_of = partial(conf.scaling, layer.run)
    if (
        isinstance(conf, Subsampling)
        and conf.is_plain_maximum
        and can_take_over("pooling")
    ):
        taken.pool_on, left.is_done = conf.window, True
