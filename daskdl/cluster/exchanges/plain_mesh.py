"""Gradient sharing in which each message goes to all others."""

from daskdl.cluster.exchanges.mesh import Mesh, Publish, Wait
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.shared_update import SharedUpdate
from daskdl.cluster.masters.tree_messages import TreeMessage


class PlainMesh(Mesh):
    """Every member sends to every other one; who is slow gets merged messages.

    Parameters
    ----------
    peer : GradientSharingPeer
    publish, wait : Publish, Wait
        Those of the exchange.
    """

    step = 0

    def __init__(self, peer: GradientSharingPeer, publish: Publish, wait: Wait) -> None:
        self._peer = peer
        self._publish = publish
        self._wait = wait

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer in this phase whose updates we have."""
        return dict(self._peer.positions)

    def tell(self, message: SharedUpdate) -> None:
        """Send an own message to all others."""
        # Its array was made for it.
        self._publish(message.to_wire(), copy=False)

    def end(self, last: SharedUpdate) -> None:
        """Send our last message, and wait for those of all others."""
        if not self._peer.is_alone:
            self.tell(last)
        self._wait("end", lambda: self._peer.waiting_for)

    def receive(self, rank: int, message: TreeMessage) -> None:
        """Do nothing: nobody has a message for us alone."""

    def left(self, rank: int) -> None:
        """Do nothing: who is left has sent to us, too."""

    def pass_on(self) -> None:
        """Do nothing: nothing goes through us."""

    def answer(self) -> None:
        """Do nothing: nothing that comes asks for an answer."""

    def silent(self, missing: frozenset[int]) -> frozenset[int]:
        """Return `missing`: they would send to us."""
        return missing
