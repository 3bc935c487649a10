"""The way into transfer learning, for either kind of network."""

from typing import Any, overload

from daskdl.errors import OptionError
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.network import Network
from daskdl.nn.transfer.graph import GraphTransferLearning
from daskdl.nn.transfer.multilayer import MultiLayerTransferLearning


@overload
def transfer_learning(network: MultiLayerNetwork) -> MultiLayerTransferLearning: ...


@overload
def transfer_learning(network: ComputationGraph) -> GraphTransferLearning: ...


# Of what was loaded, nobody but the caller knows the kind.
@overload
def transfer_learning(network: Network[Any]) -> Any: ...


def transfer_learning(network: Network[Any]) -> Any:
    """Return the builder of changes to a trained network of either kind.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Not changed.

    Raises
    ------
    OptionError
        If it is none.

    Examples
    --------
    >>> import daskdl
    >>> old = daskdl.MultiLayerNetwork(
    ...     daskdl.MultiLayerConfiguration(
    ...         input=daskdl.FeedForward(size=4),
    ...         layers=[daskdl.Dense(n_out=8), daskdl.Output(n_out=3)],
    ...     )
    ... )
    >>> new = (
    ...     transfer_learning(old)
    ...     .fine_tune(updater="adam")
    ...     .set_feature_extractor(0)
    ...     .n_out_replace(1, 5)
    ...     .build()
    ... )
    >>> [type(layer).__name__ for layer in new.conf.layers]
    ['Frozen', 'Output']
    """
    if isinstance(network, MultiLayerNetwork):
        return MultiLayerTransferLearning(network)
    if isinstance(network, ComputationGraph):
        return GraphTransferLearning(network)
    raise OptionError(
        "transfer_learning: network must be a MultiLayerNetwork or a ComputationGraph, "
        f"got {type(network).__name__}."
    )
