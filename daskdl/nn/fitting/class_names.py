"""The names of classes that data and networks have, held against each other."""

import logging
from typing import TYPE_CHECKING, Any

from daskdl.data.class_names import check_numbers_of_names
from daskdl.data.sources.partition import Source
from daskdl.nn.loss_evaluations import CLASS_LOSSES, tells_classes

if TYPE_CHECKING:
    from daskdl.nn.network import Network

logger = logging.getLogger(__name__)


def check_class_names(network: "Network[Any]", source: Source) -> None:
    """Refuse data whose classes have other numbers than the network gives them.

    Raises
    ------
    DataError
        If a name of a class stands for another number.
    """
    if source.class_names is None or network.class_names is None:
        return
    if tells_classes(network.output_losses[0]):
        check_numbers_of_names(source.name, source.class_names, network.class_names)


def take_class_names(network: "Network[Any]", source: Source) -> None:
    """Give a network without class names those that are stored with the labels.

    Raises
    ------
    DataError
        As :func:`check_class_names`.
    """
    check_class_names(network, source)
    names, loss = source.class_names, network.output_losses[0]
    if network.class_names is not None or not names or loss not in CLASS_LOSSES:
        return
    n_classes = network.output_layer_n_out[0]
    if len(set(names)) == len(names) and n_classes in (len(names), None):
        network.class_names = names
        return
    logger.warning(
        "%s: %d names of classes are stored, of %s that the network has: not taken.",
        *(source.name, len(names), n_classes),
    )
