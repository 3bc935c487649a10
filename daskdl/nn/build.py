"""From a configuration to the network that it describes."""

from typing import Any

from daskdl.errors import OptionError
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork


def build_network(conf: Any) -> MultiLayerNetwork | ComputationGraph:
    """Return a new network with initial weights.

    Raises
    ------
    OptionError
        When `conf` is no configuration.
    """
    if isinstance(conf, MultiLayerConfiguration):
        return MultiLayerNetwork(conf)
    if isinstance(conf, ComputationGraphConfiguration):
        return ComputationGraph(conf)
    raise OptionError(
        "build_network: conf must be a MultiLayerConfiguration or a "
        f"ComputationGraphConfiguration, got {type(conf).__name__}."
    )
