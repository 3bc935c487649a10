"""Rounds of dense vectors on a topic: sends what the rules say, waits for the rest."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.dense_round import RoundMessage, RoundSequence
from daskdl.cluster.masters.dense_sum import Combine, Contribution, Total

Send: TypeAlias = Callable[[RoundMessage, int | None], None]
"""Sends a message to a rank, or with None to all."""

HasRoom: TypeAlias = Callable[[RoundMessage, int | None], bool]
"""Whether a message may be sent without waiting."""

Wait: TypeAlias = Callable[[str, Callable[[], Any], Callable[[], int]], None]
"""Handles events until the function returns nothing that is missing.

The second function tells how far we have got while we wait.
"""


class DenseRounds:
    """The rounds that an exchange takes together with its peers.

    Parameters
    ----------
    rank : int
        Ours.
    send, has_room, wait : Send, HasRoom, Wait
        Those of the exchange, which hands over what it receives.
    """

    def __init__(self, rank: int, send: Send, has_room: HasRoom, wait: Wait) -> None:
        self._send = send
        self._has_room = has_room
        self._wait = wait
        self._sequence = RoundSequence(rank)

    @property
    def is_alone(self) -> bool:
        """Whether no peer is left."""
        return self._sequence.is_alone

    @property
    def is_awaited(self) -> bool:
        """Whether there will be a next round; see `RoundSequence`."""
        return self._sequence.is_awaited

    @property
    def is_under_way(self) -> bool:
        """Whether a round was started and not taken."""
        return self._sequence.current is not None

    def begin(self, phase: int, peers: Iterable[int]) -> None:
        """Begin a phase with those that are not known to be gone."""
        self._sequence.begin(phase, peers)

    def take(
        self,
        purpose: str,
        own: Contribution,
        vectors: Sequence[FloatArray],
        combine: Combine,
    ) -> Total:
        """Take a round: all that are left return the same.

        Parameters
        ----------
        purpose : str
            What members do in it, for errors.
        own, vectors, combine
            As of :class:`DenseRound`.
        """
        self._sequence.start(own, vectors, combine)
        return self.conclude(purpose)

    def start(
        self,
        own: Contribution,
        vectors: Sequence[FloatArray],
        combine: Combine,
        *,
        overwrites: bool = False,
    ) -> None:
        """Start a round, and send without waiting what there is room for.

        Until it is taken no other one can be started; see :meth:`conclude`.
        """
        self._sequence.start(own, vectors, combine, overwrites=overwrites)
        self.poll()

    def poll(self) -> bool:
        """Go on with the round without waiting; return whether it can be taken."""
        current = self._sequence.current
        if current is None:
            return False
        while current.has_messages and self._has_room(*current.upcoming):
            self._send(*current.next_message())
        return not (current.has_messages or current.waiting_for)

    def conclude(self, purpose: str) -> Total:
        """Wait until the round that was started is over, and take it."""
        current = self._sequence.started

        def missing() -> frozenset[int]:
            # Receiving may go on while one is sent.
            while current.has_messages:
                self._send(*current.next_message())
            return current.waiting_for

        self._wait(purpose, missing, lambda: current.step)
        return self._sequence.take()

    def end(self) -> None:
        """End the phase, and tell whoever still waits for somebody that is gone."""
        over = self._sequence.over()
        if over is not None:
            self._send(over, None)

    def receive(self, rank: int, message: RoundMessage) -> None:
        """Take a message in."""
        self._sequence.receive(rank, message)

    def left(self, rank: int) -> None:
        """Go on without a member."""
        self._sequence.left(rank)
