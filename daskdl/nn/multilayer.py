"""Networks whose layers follow one another."""

from collections.abc import Sequence

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.batches import Port
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.topology import Node
from daskdl.nn.doors import images_of
from daskdl.nn.layers.stage import Stage
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
    >>> from daskdl.nn.layers.dense import Dense
    >>> from daskdl.nn.layers.output import Output
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
        first, given = self._nodes[0], self.conf.input
        return [Port(self._who_is(first), given, images_of(given, [first.conf]))]

    def _output_nodes(self) -> Sequence[Node]:
        return self._nodes[-1:]

    def _forward(
        self,
        features: list[FloatArray],
        masks: list[FloatArray | None],
        *,
        training: bool,
        rng: np.random.Generator | None,
    ) -> list[FloatArray]:
        (x,), (mask,) = features, masks
        batch_size = len(x)
        for stage in self._stages:
            x, mask = stage.forward(
                x, training=training, mask=mask, rng=rng, batch_size=batch_size
            )
        return [x]

    def _backward(
        self, labels: list[FloatArray], masks: list[FloatArray | None]
    ) -> None:
        *stages, output = self._stages
        grad = output.backward_loss(labels[0], masks[0])
        for stage in reversed(stages):
            if grad is not None:
                grad = stage.backward(grad)
                continue
            # No gradient comes through a frozen layer: what is below stays.
            for gradient in stage.layer.gradients.values():
                gradient.fill(0)

    @property
    def _stages(self) -> list[Stage]:
        return [part for _, part in self._parts if isinstance(part, Stage)]
