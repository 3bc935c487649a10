"""What the driver asks members of a session, by calls to their workers."""

from collections.abc import Mapping, Sequence

from distributed import Client

from daskdl.cluster.calls import Answers, call_each, call_first
from daskdl.cluster.mailbox import deliver, stop_at
from daskdl.cluster.orders import MoreWork, Order, Restore, TrainPhase
from daskdl.cluster.session import member_state, snapshot
from daskdl.training.state import NetworkState

# Whoever has not answered after so long may be stopped: another is asked as well.
ASK_ANOTHER_AFTER_S = 10.0


class MemberCalls:
    """Call members on their workers.

    Parameters
    ----------
    client : Client
        A synchronous client.
    session : str
    in_memory : bool
        Whether partitions in orders hold their data.
    """

    def __init__(self, client: Client, session: str, *, in_memory: bool) -> None:
        self._client = client
        self._session = session
        self._in_memory = in_memory

    def deliver(
        self, orders: Mapping[int, tuple[str, Order]], timeout_s: float
    ) -> Answers:
        """Give members, by rank, at their addresses, their orders."""
        given = {a: (self._session, rank, order) for rank, (a, order) in orders.items()}
        is_large = any(self._is_large(order) for _, order in orders.values())
        answers: Answers = self._client.sync(
            call_each, self._client, deliver, given, timeout_s, is_large=is_large
        )
        return answers

    def _is_large(self, order: Order) -> bool:
        if isinstance(order, TrainPhase | MoreWork):
            return self._in_memory and bool(order.partitions)
        return isinstance(order, Restore)

    def stop_at(
        self, phase: int, positions: Mapping[int, tuple[str, int]], timeout_s: float
    ) -> Answers:
        """Take back what members, by rank, at their addresses, have not begun.

        See :meth:`Workload.stop_at`: the answers are where they stop.
        """
        given = {
            address: (self._session, rank, phase, position)
            for rank, (address, position) in positions.items()
        }
        answers: Answers = self._client.sync(
            call_each, self._client, stop_at, given, timeout_s
        )
        return answers

    def states(self, members: Mapping[int, str], timeout_s: float) -> Answers:
        """Ask members, by rank, at their addresses, for what they alone have."""
        given = {address: (self._session, rank) for rank, address in members.items()}
        answers: Answers = self._client.sync(
            call_each, self._client, member_state, given, timeout_s
        )
        return answers

    def snapshot(
        self, members: Sequence[tuple[int, str]], timeout_s: float
    ) -> NetworkState | None:
        """Return the network of the first member that answers, None if none does.

        `members` are ranks and addresses, in the order in which they are asked.
        """
        given = {address: (self._session, rank) for rank, address in members}
        state: NetworkState | None = self._client.sync(
            call_first, self._client, snapshot, given, timeout_s, ASK_ANOTHER_AFTER_S
        )
        return state
