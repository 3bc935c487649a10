"""What training moves on: a network, or one layer of it in pretraining."""

from typing import TYPE_CHECKING, Any, TypeAlias

from daskdl.nn.pretraining import LayerPretraining

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["Trained", "layer_of", "network_of"]

Trained: TypeAlias = "Network[Any] | LayerPretraining"
"""Both have vectors, counters and a step; the loop, and exchanges, need no more."""


def network_of(trained: Trained) -> "Network[Any]":
    """Return the network that is trained, or of which a layer is."""
    return trained.network if isinstance(trained, LayerPretraining) else trained


def layer_of(trained: Trained) -> str | None:
    """Return the name of the layer that is pretrained; None if the network is."""
    return trained.name if isinstance(trained, LayerPretraining) else None
