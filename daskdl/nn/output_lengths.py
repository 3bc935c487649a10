"""Lengths of a network's output series, for those of its input."""

from collections.abc import Callable
from functools import lru_cache

from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.topology import sequence


def output_steps(
    conf: MultiLayerConfiguration | ComputationGraphConfiguration,
) -> Callable[[int], int | None] | None:
    """Return the function from the time steps of series to those of the outputs.

    Parameters
    ----------
    conf : configuration
        Of a network.

    Returns
    -------
    function of int -> int or None, or None
        None if the network takes no series, or is a graph, whose inputs may be of
        different lengths. The function returns None where the length cannot be told.
    """
    if not isinstance(conf, MultiLayerConfiguration):
        return None
    series = conf.input
    if not isinstance(series, Recurrent):
        return None

    @lru_cache(maxsize=64)
    def steps(length: int) -> int | None:
        nodes = sequence(conf, conf.layers, series.replaced(time_steps=length))
        output = nodes[-1].output_type
        return output.time_steps if isinstance(output, Recurrent) else None

    return steps
