"""Networks whose layers follow one another."""

from collections.abc import Sequence
from typing import Any

from daskdl.nn.array_specs import input_spec, name_of
from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.conf.topology import Node
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

    # Python names the class that defines it where it is called with other arguments.
    def __init__(
        self,
        conf: MultiLayerConfiguration,
        params: Any = None,
        *,
        updater_state: Any = None,
    ) -> None:
        super().__init__(conf, params, updater_state=updater_state)

    @property
    def inputs(self) -> list[ArraySpec]:
        """Spec of the one input, named after the first layer."""
        who = name_of(type(self).__name__, self._nodes[0])
        return [input_spec(who, self.conf.input, self._nodes[:1], self.dtype)]

    @property
    def output_nodes(self) -> Sequence[Node]:
        """The node of the output: the last layer."""
        return self._nodes[-1:]

    def _input_names(self) -> Sequence[str]:
        return self._nodes[0].inputs
