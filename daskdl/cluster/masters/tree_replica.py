"""A peer of gradient sharing as a tree of members sees it. Pure.

An update is a tuple of messages. A sum is all of them one behind the other, so that
nothing is lost and thresholds may differ, until a dense one is as short.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.encoding.folding import fold
from daskdl.encoding.handler import decode_add, decode_subtract

Update: TypeAlias = tuple[NDArray[Any], ...]
"""Messages, packed or dense, as :func:`~daskdl.encoding.folding.fold` takes them."""

# Of the length of a dense update: going through its numbers costs less than to unpack
# as many bytes.
_MOST_OF_DENSE = 0.5


class TreeReplica:
    """What :class:`~daskdl.cluster.masters.tree_messages.Replica` asks for.

    Parameters
    ----------
    peer : GradientSharingPeer
        In a phase. Its base has lost what we told already, where the tree's base does
        so when that has come down.
    """

    def __init__(self, peer: GradientSharingPeer) -> None:
        self._peer = peer

    def sum(self, updates: Sequence[Update]) -> Update:
        """Return one update for several."""
        messages = [message for update in updates for message in update]
        dense_bytes = self._peer.base.size * 4
        n_bytes = sum(message.nbytes for message in messages)
        if len(messages) == 1 or n_bytes <= _MOST_OF_DENSE * dense_bytes:
            return tuple(messages)
        return (fold(messages, self._peer.base.size),)

    def take_in(self, update: Update, own: Sequence[Update]) -> None:
        """Subtract an update, of which we have subtracted our `own` parts before."""
        for message in update:
            self._peer.take_in(message)
        for part in own:
            for message in part:
                self._peer.give_back(message)

    def base(self, untold: Sequence[Update]) -> FloatArray:
        """Return a copy of the base, (n,); `untold` are own updates not in it."""
        base: FloatArray = self._peer.base.copy()
        for update in untold:
            for message in update:
                decode_add(message, base)
        return base

    def replace_base(self, base: FloatArray, untold: Sequence[Update]) -> None:
        """Go on from another base, (n,), which `untold` are not in."""
        base = base.copy()
        for update in untold:
            for message in update:
                decode_subtract(message, base)
        self._peer.replace_base(base)
