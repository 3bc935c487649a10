"""Which layers and vertices do the work of the layer behind them, found once.

A rectifier in an :class:`~daskdl.nn.layers.activation.Activation` layer of its own
reads and writes again, forward and backward, what the part in front of it has just
written. Where nobody else reads that, the part in front rectifies as it writes, and
the layer hands arrays through. So it is with the maximum pooling behind a convolution,
whose outputs then exist for one image at a time only; with the mean of vectors that
were looked up, which are then never copied; and in inference with batch normalization
behind a convolution, whose factors go into the weights. What comes out is the same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.topology import Node
from daskdl.nn.layers.activation import Activation
from daskdl.nn.layers.batch_normalization import BatchNormalization
from daskdl.nn.layers.global_pooling import GlobalPooling
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.pooling import Subsampling
from daskdl.nn.run import LayerPass, Run
from daskdl.nn.vertices.vertex import Vertex

_Part: TypeAlias = Layer | Vertex
_Compute: TypeAlias = Callable[[Run, FloatArray], LayerPass]


def join_parts(parts: Sequence[tuple[Node, _Part]], outputs: Iterable[str]) -> None:
    """Let each part that can do it take over the layer that alone reads it.

    What each layer then does, or leaves to the part in front, is in its `fused`.

    Parameters
    ----------
    parts : sequence of (Node, Layer or Vertex)
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
        if isinstance(part, Layer) and not part.has_entrance:
            _join(part, source)


def _join(layer: Layer, source: _Part) -> None:
    """Let the source do the work of a layer, if both can."""
    conf = layer.conf
    is_rectifier = isinstance(conf, Activation) and conf.is_relu
    if isinstance(source, Vertex):
        if is_rectifier and source.rectify():
            _leave_all(layer)
        return
    taken, can_take_over = source.run.fused, source.conf.can_take_over
    if is_rectifier and can_take_over("rectifier"):
        taken.rectifies = True
        _leave_all(layer)
    elif isinstance(conf, BatchNormalization) and can_take_over("normalization"):
        taken.scaling_of = partial(conf.scaling, layer.run)
        layer.compute = _left_in_inference(layer.compute)
    elif (
        isinstance(conf, Subsampling)
        and conf.is_plain_maximum
        and can_take_over("pooling")
    ):
        taken.pool_on = conf.window
        _leave_all(layer)
    elif isinstance(conf, GlobalPooling) and can_take_over("sums"):
        taken.sums_steps = conf.sum_to_rows
        if taken.sums_steps is not None:
            layer.run.fused.is_done = True
            layer.compute = _left_where_summed(layer.compute)


def _leave_all(layer: Layer) -> None:
    layer.run.fused.is_done = True
    layer.compute = _handed_through


def _handed_through(run: Run, x: FloatArray) -> LayerPass:
    return x, _as_it_is


def _as_it_is(grad_out: FloatArray) -> FloatArray:
    return grad_out


def _left_in_inference(compute: _Compute) -> _Compute:
    """Return what computes in training only."""

    def computed(run: Run, x: FloatArray) -> LayerPass:
        return compute(run, x) if run.training else _handed_through(run, x)

    return computed


def _left_where_summed(compute: _Compute) -> _Compute:
    """Return what computes where series arrive, whose steps a mask drops."""

    def computed(run: Run, x: FloatArray) -> LayerPass:
        return compute(run, x) if x.ndim > 2 else _handed_through(run, x)

    return computed
