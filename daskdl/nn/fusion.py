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
from typing import Any, TypeAlias

from daskdl.nn.conf.topology import Node
from daskdl.nn.layers.activation import ActivationLayer
from daskdl.nn.layers.batch_normalization import BatchNormalizationLayer
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.stage import Stage
from daskdl.nn.layers.subsampling import SubsamplingLayer
from daskdl.nn.vertices.vertex import Vertex

_Part: TypeAlias = Stage | Vertex


def join_parts(parts: Sequence[tuple[Node, _Part]], outputs: Iterable[str]) -> None:
    """Let each part that can do it take over the layer that alone reads it.

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
    worker = source.layer if isinstance(source, Stage) else source
    if isinstance(layer, ActivationLayer) and layer.is_relu and worker.rectify():
        layer.leave_to_source()
    if not isinstance(worker, Layer):
        return
    if isinstance(layer, BatchNormalizationLayer) and worker.scale(layer.scaling):
        layer.leave_inference_to_source()
    if (
        isinstance(layer, SubsamplingLayer)
        and layer.is_plain_maximum
        and worker.pool(layer.window_on)
    ):
        layer.leave_to_source()
