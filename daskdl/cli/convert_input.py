"""The network that ``daskdl convert`` is given."""

from typing import Any

from daskdl.cli.bare_configuration import (
    is_bare_configuration,
    load_bare_configuration,
)
from daskdl.cli.saved_model import open_model
from daskdl.data.filesystems import filesystem
from daskdl.data.store import kind_of
from daskdl.nn.build import build_network
from daskdl.nn.network import Network

__all__ = ["open_convert_input"]


def open_convert_input(path: str) -> tuple[Network[Any], bool]:
    """Load a saved network, or build one from a configuration of DL4J.

    Returns
    -------
    network : MultiLayerNetwork or ComputationGraph
        With its counters.
    is_saved : bool
        Whether its numbers come from the file; else its weights were drawn.

    Raises
    ------
    SourceNotFoundError
        If nothing is there.
    FormatError
        If what is there is no network.
    """
    if kind_of(*filesystem(path)) == "file" and is_bare_configuration(path):
        conf, counters = load_bare_configuration(path)
        network = build_network(conf)
        network.iteration_count = counters.iteration
        network.epoch_count = counters.epoch
        return network, False
    return open_model(path).network, True
