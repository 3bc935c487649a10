"""A member's way out of its topic."""

import asyncio
import logging
from collections.abc import Callable

from daskdl.cluster.bus.control import Control
from daskdl.cluster.bus.peers import Peers
from daskdl.cluster.bus.state import TopicState
from daskdl.errors import ClusterError

logger = logging.getLogger(__name__)


class Membership:
    """One member's place in the scheduler's registry; used on the event loop.

    Parameters
    ----------
    state, peers, control
        Of the topic.
    on_left : callable
        Called once, when nothing of the member is left.
    """

    def __init__(
        self,
        state: TopicState,
        peers: Peers,
        control: Control,
        on_left: Callable[[], None],
    ) -> None:
        self._state = state
        self._peers = peers
        self._control = control
        self._on_left = on_left
        self._leaving: asyncio.Task[None] | None = None

    async def try_to_leave(self) -> bool:
        """Leave the registry, unless it has members that lack our last word.

        Without this, a member that came while we closed would take our leaving for a
        loss.
        """
        known = list(self._peers.members())
        view = await self._control.leave(self._state.name, self._state.me, known=known)
        if view is None:
            return True
        self._peers.apply(view)
        return False

    def start_to_leave(self) -> None:
        """Begin to free the member's resources; see :meth:`leave`."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave())

    async def leave(self) -> None:
        """Cut all connections and leave the registry. Idempotent."""
        self.start_to_leave()
        if self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def _leave(self) -> None:
        try:
            await self._peers.stop()
            await self._control.leave(self._state.name, self._state.me)
        except ClusterError as error:
            # The scheduler forgets us when it loses our worker; and a peer that asks
            # for us in vain tells it.
            logger.info("Topic %r: left without a word: %s", self._state.name, error)
        finally:
            self._on_left()
