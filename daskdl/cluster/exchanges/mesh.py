"""Whom the messages of gradient sharing go to: what an exchange asks of a mesh."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from daskdl.cluster.masters.shared_update import SharedUpdate
from daskdl.cluster.masters.tree_messages import TreeMessage

Publish: TypeAlias = Callable[..., None]
"""Sends to all, or with ``to=`` to a rank; of `ClusterExchange`."""

Wait: TypeAlias = Callable[..., None]
"""Handles events until nobody is missing; of `ClusterExchange`."""


class Mesh(ABC):
    """How the messages of one phase reach all members of it."""

    @property
    @abstractmethod
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer in this phase whose updates we have."""

    @abstractmethod
    def tell(self, message: SharedUpdate) -> None:
        """Send an own message on its way to all others."""

    @abstractmethod
    def end(self, last: SharedUpdate) -> None:
        """Send our last message, and wait until all have ended the phase."""

    @abstractmethod
    def receive(self, rank: int, message: TreeMessage) -> None:
        """Take in a message of the phase that was meant for us alone."""

    @abstractmethod
    def left(self, rank: int) -> None:
        """Go on without a peer."""

    @abstractmethod
    def pass_on(self) -> None:
        """Let nothing of others wait for more: none comes from us for a while."""

    @abstractmethod
    def answer(self) -> None:
        """Send what came of the messages that were taken in."""

    @abstractmethod
    def silent(self, missing: frozenset[int]) -> frozenset[int]:
        """Return who seems to keep `missing` from us: somebody if any are missing."""

    @property
    @abstractmethod
    def step(self) -> int:
        """How far we have got while we wait; who is least far tells who is silent."""
