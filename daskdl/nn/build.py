"""Building a network from its configuration."""

import math
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import OptionError
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork


def build_network(
    conf: Any, *, is_drawn: bool = True
) -> MultiLayerNetwork | ComputationGraph:
    """Return a new network with initial weights.

    Parameters
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
    is_drawn : bool
        False leaves all parameters 0 for who has others: to draw them costs time, and
        may need a file that is not here.

    Raises
    ------
    OptionError
        When `conf` is no configuration.
    """
    params = None if is_drawn else _zeros(conf)
    if isinstance(conf, MultiLayerConfiguration):
        return MultiLayerNetwork(conf, params)
    if isinstance(conf, ComputationGraphConfiguration):
        return ComputationGraph(conf, params)
    raise OptionError(
        "build_network: conf must be a MultiLayerConfiguration or a "
        f"ComputationGraphConfiguration, got {type(conf).__name__}."
    )


def _zeros(conf: MultiLayerConfiguration | ComputationGraphConfiguration) -> FloatArray:
    parameters = (item for node in conf.nodes() for item in node.parameters)
    return np.zeros(sum(math.prod(item.shape) for item in parameters), conf.dtype)
