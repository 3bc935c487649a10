"""One phase of an epoch, as the driver sees it: who trains what, and how far it is.

It begins with equal shares. While it runs, work moves to where there is time; it may be
cut short, so that what was not begun becomes a phase of other members.
"""

import math
import time
from collections.abc import Mapping, Sequence

from daskdl.cluster.balance import Balance, Move
from daskdl.cluster.epoch_order import Shares
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.membership import PhaseLedger, deal_again, deal_leftover
from daskdl.cluster.orders import ClosePhase, MoreWork, StandStill, TrainPhase
from daskdl.cluster.session_members import SessionMembers
from daskdl.data.plan import Minibatch


class Phase:
    """Run one phase.

    Parameters
    ----------
    number : int
        Never used twice.
    shares : mapping of int to sequence of Minibatch
        What each member trains, in its order; not all are empty.
    members : SessionMembers
        Who gets the orders.
    master : TrainingMaster
    rates : mapping of int to float
        Minibatches a second, of members of which that is known from before.

    Attributes
    ----------
    number : int
    ledger : PhaseLedger
    is_cut : bool
        Whether it was cut short.
    is_standing : bool
        Whether members were told to stand still.
    first_end_s : float
        When the first member ended it, on the monotonic clock; infinite before.
    """

    def __init__(
        self,
        number: int,
        shares: Shares,
        members: SessionMembers,
        master: TrainingMaster,
        rates: Mapping[int, float],
    ) -> None:
        self.number = number
        self.ledger = PhaseLedger(shares)
        self.is_cut = False
        self.is_standing = False
        self.first_end_s = math.inf
        self._rest: dict[int, tuple[Minibatch, ...]] = {}  # by rank
        self._shares = shares
        self._members = members
        totals = self.ledger.totals
        self._balance = Balance(totals, rates)
        is_alone = len(shares) == 1
        is_fixed = not master.moves_work or is_alone or self._balance.is_short
        self._is_closed = is_fixed or self._balance.is_settled(0.0)
        self._may_move = False

    @property
    def rates(self) -> dict[int, float]:
        """Minibatches a second, of each member of which that is known."""
        return self._balance.rates

    @property
    def left_s(self) -> float:
        """How long the phase lasts from now; infinite if nobody knows."""
        return self._balance.left_s(time.monotonic())

    def begin(self, epoch: int) -> None:
        """Order the members to train."""
        totals = self.ledger.totals if self._is_closed else None
        members, hosts = frozenset(self._shares), self._members.hosts
        orders = {}
        for rank, share in self._shares.items():
            minibatches, partitions = self._members.to_send(rank, share)
            orders[rank] = TrainPhase(
                phase=self.number,
                epoch=epoch,
                members=members,
                minibatches=minibatches,
                partitions=partitions,
                totals=totals,
                hosts=hosts,
            )
        self._members.order(orders)
        for rank in members - self._members.addresses.keys():
            self.lost(rank)

    def lost(self, rank: int) -> None:
        """Go on without a member."""
        self.ledger.lost(rank)
        self._balance.lost(rank)

    def progress(
        self, rank: int, trained: int, *, is_idle: bool = False, may_move: bool = True
    ) -> None:
        """Take in how far a member is, and what it says of the balance.

        Parameters
        ----------
        rank, trained : int
            Of the member, and how many minibatches of the phase it has trained.
        is_idle : bool
            Whether it has nothing left.
        may_move : bool
            Whether members differ in speed, as it knows, or nobody has to be equal.
        """
        self._may_move |= may_move
        self.ledger.progress(rank, trained)
        self._balance.trained(rank, trained, time.monotonic(), is_idle=is_idle)

    def finished(
        self, rank: int, trained: int, positions: Mapping[int | str, int]
    ) -> None:
        """Note that a member ended the phase, with what it took in of each peer.

        It may have trained fewer than it had, where members were to stand still. Ranks
        of peers may be texts, as reports have them.
        """
        self.first_end_s = min(self.first_end_s, time.monotonic())
        rest = self.ledger.take_back(rank, trained)
        self._rest[rank] = (*rest, *self._rest.get(rank, ()))
        self.ledger.finished(rank, {int(peer): at for peer, at in positions.items()})

    def tend(self) -> None:
        """Move work if it is time, and tell the members when no more is moved."""
        while not self._is_closed:
            now = time.monotonic()
            may_move = self._may_move and not self.is_standing
            move = self._balance.next_move(now) if may_move else None
            if move is not None:
                self._move(move)
            elif self._balance.is_settled(now) or self._balance.is_waiting:
                self._close()
            else:
                return

    def cut(self) -> None:
        """Let the members end the phase after what they have begun."""
        if self.is_cut:
            return
        self.is_cut = True
        stops = self._members.stop_at(
            self.number, dict.fromkeys(self.ledger.waiting_for, 0)
        )
        for rank, stop in stops.items():
            self._rest[rank] = self.ledger.take_back(rank, stop)
            self._balance.settle(rank, stop)
        self._close()

    def stand_still(self) -> None:
        """Let the members end the phase where all stand at a common position.

        Where they wait for one another that is behind a whole round, so that it changes
        nothing of what they learn.
        """
        if not (self.is_cut or self.is_standing):
            self.is_standing = True
            self._members.order_all(StandStill(phase=self.number))

    def leftover(self, ranks: Sequence[int]) -> Shares:
        """Deal what is left, when all have ended, to those that go on."""
        lost_members = self.ledger.lost_members()
        if not any(self._rest.values()):
            return deal_again(lost_members, ranks)
        rest = {**self._rest}
        for lost in lost_members:
            rest[lost.rank] = (*lost.unfinished, *rest.get(lost.rank, ()))
        if rest.keys() == set(ranks):
            # As if they had not stood still.
            return {rank: rest[rank] for rank in ranks}
        return deal_leftover(rest, ranks)

    def _move(self, move: Move) -> None:
        total = self.ledger.totals[move.source]
        wanted = total - move.count
        stops = self._members.stop_at(self.number, {move.source: wanted})
        stop = stops.get(move.source)
        if stop is None:
            # It is gone, or about to be counted so; what it has is dealt again then.
            self._balance.lost(move.source)
            return
        moved = self.ledger.take_back(move.source, stop)
        # Further than it was told to stop: it had begun all of that.
        self._balance.settle(move.source, stop, begun=stop if stop > wanted else 0)
        if not moved:
            return
        self.ledger.give(move.target, moved)
        self._balance.settle(move.target, self.ledger.totals[move.target])
        minibatches, partitions = self._members.to_send(move.target, moved)
        more = MoreWork(
            phase=self.number, minibatches=minibatches, partitions=partitions
        )
        self._members.order({move.target: more})

    def _close(self) -> None:
        self._is_closed = True
        order = ClosePhase(phase=self.number, totals=self.ledger.totals)
        self._members.order_all(order)
