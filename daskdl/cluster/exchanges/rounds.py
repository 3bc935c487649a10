"""The base of exchanges whose members wait for each other, round by round."""

from abc import abstractmethod
from typing import Any

from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.base import ClusterExchange
from daskdl.cluster.exchanges.dense_rounds import DenseRounds
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Total
from daskdl.cluster.masters.options import (
    TrainingMaster,
)
from daskdl.nn.fitting.trained import Trained


class RoundsExchange(ClusterExchange):
    """The base of exchanges that take rounds of dense vectors with all their peers."""

    def __init__(
        self, rank: int, topic: Topic, mailbox: Mailbox, master: TrainingMaster
    ) -> None:
        super().__init__(rank, topic, mailbox, master)
        self._rounds = DenseRounds(rank, self._send, self._has_room, self._wait)
        self._positions: dict[int, int] = {}
        self._is_over = False  # whether nobody had anything left in the last round

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer that are in the last round."""
        return dict(self._positions)

    @property
    def stops_anywhere(self) -> bool:
        """Whether nobody is left: else all end a phase behind the same round."""
        return self._rounds.is_alone

    @abstractmethod
    def _take_part(self, network: Trained) -> None:
        """Take a round for the sake of peers that have minibatches left."""

    def updated(self, network: Trained) -> None:
        """Do nothing: what is shared are not updates."""

    def idle(self, network: Trained) -> None:
        """Take part in the rounds of peers that have minibatches left."""
        if self._rounds.is_awaited and not self._is_over:
            self._take_part(network)
        else:
            self._take_event()

    def finish(self, network: Trained, phase: int, members: frozenset[int]) -> None:
        """Do nothing: the last round left all replicas equal."""

    def _begin(self, network: Trained, peers: frozenset[int]) -> None:
        self._rounds.begin(self._phase, peers)
        self._positions = dict.fromkeys(peers, 0)
        self._is_over = not peers

    def _note(self, total: Total) -> None:
        """Note what all told in a round."""
        told = total.contributions.items()
        self._positions.update({rank: item.position for rank, item in told})
        self._positions.pop(self._rank, None)
        self._is_over = total.is_last
        if any(item.wants_stop for item in total.contributions.values()):
            # All hear it in this round, whoever heard of it first.
            self._workload.end()

    def _receive(self, rank: int, data: Any) -> None:
        if isinstance(data, RoundMessage):
            self._rounds.receive(rank, data)

    def _answer(self) -> None:
        """Do nothing: rounds are waited for, and send meanwhile."""

    def _left(self, rank: int) -> None:
        self._rounds.left(rank)
