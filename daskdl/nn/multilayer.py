"""Networks whose layers follow one another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.batches import Port
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.layers.build import build_layer
from daskdl.nn.layers.layer import Layer, OutputLayer
from daskdl.nn.network import Network


class MultiLayerNetwork(Network[MultiLayerConfiguration]):
    """A sequence of layers, the last one with a loss.

    Parameters, attributes and errors are those of
    :class:`~daskdl.nn.network.Network`.

    Examples
    --------
    >>> import numpy as np
    >>> from daskdl.data.dataset import DataSet
    >>> from daskdl.nn.conf.input_type import FeedForward
    >>> from daskdl.nn.conf.layers import Dense, Output
    >>> net = MultiLayerNetwork(
    ...     MultiLayerConfiguration(
    ...         input=FeedForward(size=2),
    ...         layers=[Dense(n_out=8, activation="tanh"), Output(n_out=2)],
    ...         updater={"type": "adam", "learning_rate": 0.05},
    ...     )
    ... )
    >>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> y = np.eye(2)[[0, 1, 1, 0]]
    >>> net.fit(DataSet(x, y), epochs=200).output(x).argmax(axis=1)
    array([0, 1, 1, 0])
    """

    @property
    def inputs(self) -> list[Port]:
        """What goes in: one input, named after the first layer."""
        return [Port(self._who_is(self._layers[0][1]), self.conf.input)]

    def _build(self) -> list[tuple[Node, Layer[Any]]]:
        return [
            (
                node,
                build_layer(node.conf, node.input_types[0], node.name, self._workspace),
            )
            for node in self._nodes
            if isinstance(node.conf, LayerConf)
        ]

    def _output_layers(self) -> Sequence[OutputLayer[Any]]:
        last = self._layers[-1][1]
        return [last] if isinstance(last, OutputLayer) else []

    def _forward(
        self,
        features: list[FloatArray],
        masks: list[FloatArray | None],
        *,
        training: bool,
        rng: np.random.Generator | None,
    ) -> list[FloatArray]:
        (x,), (mask,) = features, masks
        for _, layer in self._layers:
            x = layer.forward(x, training=training, mask=mask, rng=rng)
            mask = layer.feed_forward_mask(mask)
        return [x]

    def _backward(
        self, labels: list[FloatArray], masks: list[FloatArray | None]
    ) -> None:
        (output,) = self._output_layers()
        grad = output.backward_loss(labels[0], masks[0])
        for _, layer in reversed(self._layers[:-1]):
            if grad is None:
                return
            grad = layer.backward(grad)
