"""The dialect that a user asks for, in place of the one that a network came with."""

from typing import Any

from daskdl.errors import OptionError
from daskdl.nn.network import Network

__all__ = ["in_dialect"]


def in_dialect(
    who: str, network: Network[Any], name: str
) -> tuple[Network[Any], list[str]]:
    """Return a network in another dialect, and in words what that changes.

    Parameters
    ----------
    who : str
        The option, for messages.
    network : MultiLayerNetwork or ComputationGraph
        Not changed.
    name : str
        Of the dialect.

    Raises
    ------
    OptionError
        If there is no such dialect, or the network is none in it.
    """
    try:
        changed, quirks = network.with_dialect(name)
    except OptionError as error:
        raise OptionError(f"{who}: {error}") from error
    return changed, [f"computed otherwise in {name}: {quirk}" for quirk in quirks]
