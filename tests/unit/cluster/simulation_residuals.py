"""What members of a simulated fit trained and did not send, which may be lost."""

from typing import Any

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.shared_update import SharedUpdate


class WatchedPeer:
    """A peer of gradient sharing, and a copy of what leaves its residual as a whole.

    It goes into the parameters of who is alone, at the beginning of a phase or in it,
    and into the message that ends a phase, which may not arrive.
    """

    def __init__(self, peer: GradientSharingPeer) -> None:
        self._peer = peer
        self._kept: list[FloatArray] = []
        self._ending: list[FloatArray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._peer, name)

    @property
    def unsent(self) -> list[FloatArray]:
        """What was not sent or may not have arrived, each of shape (n_params,)."""
        return [self._peer.residual, *self._kept, *self._ending]

    def begin(
        self, phase: int, peers: frozenset[int], *, are_near: bool = False
    ) -> None:
        residual = self._peer.residual.copy()
        self._peer.begin(phase, peers, are_near=are_near)
        self._keep_if_alone(residual)

    def left(self, rank: int) -> None:
        residual = self._peer.residual.copy()
        self._peer.left(rank)
        self._keep_if_alone(residual)

    def end(self, position: int) -> SharedUpdate:
        self._ending = [self._peer.residual.copy()]
        return self._peer.end(position)

    def _keep_if_alone(self, residual: FloatArray) -> None:
        # Who was given up is alone, too, when the others have finished.
        if self._peer.is_alone:
            self._kept.append(residual)
