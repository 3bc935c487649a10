"""The messages of gradient sharing to all others, and how waiting ones become one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daskdl.encoding.folding import fold


@dataclass(frozen=True, kw_only=True)
class SharedUpdate:
    """One message of gradient sharing.

    Attributes
    ----------
    phase : int
        The phase that the update belongs to; increases only.
    position : int
        How many minibatches of the phase the sender has trained.
    ends : bool
        Whether this is the sender's last message of the phase.
    data : ndarray or None
        A packed message (uint8) or a dense update (float) of the size of the
        parameters; ``None`` when there is nothing but the position to tell.
    statistics : ndarray or None
        The sender's running statistics, with its last message of a phase.
    threshold : float or None
        What the sender's first update asks for, before it shares that update.
    step_s : float
        Seconds that the sender takes for a minibatch, without the exchange; 0 if it
        does not say.
    """

    phase: int
    position: int
    ends: bool
    data: Any = None
    statistics: Any = None
    threshold: float | None = None
    step_s: float = 0.0

    def to_wire(self) -> dict[str, Any]:
        """Return the message as plain values and arrays."""
        return dict(self.__dict__)


def merge_waiting(size: int) -> Any:
    """Return the function that folds a slow peer's queue into one message.

    Threshold updates are additive: the sum loses nothing, where dropping one would lose
    what the residual has already given up. The last one is always an update; others,
    of a tree or of rounds, belong to phases that all have ended.
    """

    def merged(waiting: Sequence[Any]) -> dict[str, Any]:
        shared = [item for item in waiting if isinstance(item, dict)]
        updates = [item["data"] for item in shared if item["data"] is not None]
        told = [item["threshold"] for item in shared if item["threshold"] is not None]
        return {
            **shared[-1],
            "data": fold(updates, size) if updates else None,
            "threshold": told[-1] if told else None,
        }

    return merged
