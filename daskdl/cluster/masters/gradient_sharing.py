"""Gradient sharing: a worker's own update, and the updates of its peers.

Pure: a message comes in, effects go out; sending and waiting are the session's.

A worker subtracts its own updates whole, as if it were alone. All workers know the
same base: the parameters without what was not shared yet. Their difference is the
residual, out of which the encoder takes a message now and then; that is subtracted from
everyone's base, and from the peers' parameters::

    parameters = base - residual      own update: from the parameters
                                      own message: from the base
                                      a peer's message: from both

So bases differ by rounding only. See design 0031, and 0002 for what DL4J does.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.running_statistics import RunningStatistics
from daskdl.cluster.masters.shared_update import SharedUpdate
from daskdl.cluster.masters.staleness import StalenessTally
from daskdl.cluster.masters.untold_share import UntoldShare
from daskdl.encoding.algorithms import ThresholdState
from daskdl.encoding.finite import check_finite
from daskdl.encoding.handler import EncodingHandler, decode_add, decode_subtract
from daskdl.encoding.residual_statistics import ResidualStatistics, residual_statistics
from daskdl.encoding.wire import pack, unpacked
from daskdl.errors import StaleMessageError

# Until so many iterations a phase ends with the whole residual, unless a network warmed
# up: messages could not carry what was learned, and together were shorter.
WHOLE_BELOW = 16
# And later, if so much of the residual lies where less was told than is left: rows of
# an embedding that come once an epoch never reach the threshold. See design 0080.
MOST_UNTOLD = 0.5
# Minibatches. Who is further behind is slow, and holds nobody up.
MOST_LATE = 8
# Nor does who takes so many times as long for a minibatch as we do.
SLOWER = 2.0
# After so many iterations one more may be told at once: who has learned for long moves
# little in each.
ITERATIONS_FOR_ONE_MORE = 64
# Iterations of a network that are told densely, from so many members on: fewer learn no
# better by it. See design 0037.
WARM_UP = 9
WARMED_UP_FROM = 4
# Updates that the threshold follows: each of the network's first iterations, then some.
# A look at one takes as long as a third of its encoding.
FOLLOW_EACH_UNTIL = 64
FOLLOW_EVERY = 4


def iterations_together(most: int, iteration: int) -> int:
    """Return how many iterations are told at once.

    Parameters
    ----------
    most : int
        No more than these, at least 1.
    iteration : int
        The network's counter.
    """
    return max(1, min(most, iteration // ITERATIONS_FOR_ONE_MORE))


class GradientSharingPeer:
    """The state of one worker in gradient sharing.

    Parameters
    ----------
    master : SharedTrainingMaster
        The options.
    params : ndarray of shape (n,), float32 or float64
        The flat parameters; written through. Between two phases they are the base.
    running_slots : sequence of Slot
        Where running statistics lie in them; see :class:`RunningStatistics`.
    threshold : float
        Where an earlier fit, or the others, stand; NaN if nothing is known.

    Attributes
    ----------
    measured : ResidualStatistics or None
        Of the residual that was last encoded; None unless the master asks for it.
    """

    def __init__(
        self,
        master: SharedTrainingMaster,
        params: FloatArray,
        running_slots: Sequence[Slot] = (),
        threshold: float = math.nan,
    ) -> None:
        self._master = master
        self._params = params
        self._statistics = RunningStatistics(params, running_slots)
        self._handler = EncodingHandler(
            params.size,
            algorithm=master.threshold_algorithm,
            post_processor=master.residual_post_processor,
            rounding=master.rounding,
            dtype=params.dtype,
            observe=self._measure if master.encoding_debug_mode else None,
        )
        self._handler.start_from(ThresholdState(threshold=threshold))
        self._base: FloatArray = params[:0]  # of all parameters while there are peers
        self._trained = 0  # minibatches in phases that ended
        self._has_warmed_up = False
        self._untold_share = UntoldShare(params.size)
        # Minibatches, in phases that ended, since one of them ended with all of it.
        self._since_whole = 0
        self._ended_whole = False
        self._untold = 0  # updates since we last shared
        self._together = 1
        self._processed = 0  # the iteration whose residual was last processed
        self._proposed: dict[int, float] = {}  # what first updates of peers ask for
        self._has_agreed = False
        self._phase = -1
        self._is_last_phase = False
        self._waiting_for: set[int] = set()
        self._peers: set[int] = set()
        self._are_near = False
        self._steps_s: dict[int, float] = {}  # of peers that said so
        self._position = 0  # of our last message
        self.positions: dict[int, int] = {}
        self.staleness = StalenessTally()
        self.measured: ResidualStatistics | None = None

    @property
    def residual(self) -> FloatArray:
        """The part of updates that is not yet shared, of shape (n,)."""
        if self._is_sharing:
            self._measure_residual()
        return self._handler.residual

    @property
    def base(self) -> FloatArray:
        """What all members know, and what we told: no copy, of shape (n,)."""
        return self._base if self._is_sharing else self._params

    @property
    def threshold(self) -> float:
        """The threshold of the last message."""
        return self._handler.threshold

    def state_dict(self) -> dict[str, Any]:
        """Return what a peer needs to go on with the same messages in a later session.

        Between two phases: then the parameters are the base, which is no part of it.
        """
        return {
            **self._handler.state_dict(),
            "trained": self._trained,
            "has_warmed_up": self._has_warmed_up,
            "processed": self._processed,
            "since_whole": self._since_whole,
            **self._untold_share.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`, before a phase begins.

        Without a residual nothing is left to be told.

        Raises
        ------
        ShapeError
            When the residual has another shape or dtype.
        """
        self._handler.load_state_dict(state)
        self._trained = state["trained"]
        self._has_warmed_up = state["has_warmed_up"]
        self._processed = state["processed"]
        # Of a checkpoint of an older version there is none.
        self._since_whole = state.get("since_whole", 0)
        self._untold_share.load_state_dict(state)

    @property
    def is_alone(self) -> bool:
        """Whether no peer is left to share with."""
        return not self._peers

    @property
    def waiting_for(self) -> frozenset[int]:
        """Peers whose last message of this phase has not come."""
        return frozenset(self._waiting_for)

    def is_waited_for(self, position: int, step_s: float = 0.0) -> bool:
        """Whether a peer is behind, but not so far that it must be slow.

        Where several iterations are told at once, as many are no delay.

        Parameters
        ----------
        position : int
            Minibatches that we have trained in this phase.
        step_s : float
            Seconds that we take for one.
        """
        as_many = self._together - 1
        behind = (
            position - self.positions[rank]
            for rank in self._waiting_for
            if self._steps_s.get(rank, 0.0) <= SLOWER * step_s
        )
        return any(as_many < late <= as_many + MOST_LATE for late in behind)

    def too_far_behind(self, position: int) -> frozenset[int]:
        """Return peers that must catch up before we go on from `position`.

        None where the master sets no bound. Who has ended the phase is not behind.
        """
        bound = self._master.max_staleness
        if bound is None:
            return frozenset()
        least = position - bound - (self._together - 1)
        return frozenset(r for r in self._waiting_for if self.positions[r] < least)

    def begin(
        self, phase: int, peers: frozenset[int], *, are_near: bool = False
    ) -> None:
        """Start a phase with these peers; messages to near ones go through memory."""
        self._phase = phase
        self._peers, self._are_near = set(peers), are_near
        self._waiting_for = set(peers)
        self.positions = dict.fromkeys(peers, 0)
        self._position = self._untold = 0
        self._statistics.begin()
        if not self._since_whole:
            # Not before: peers, too, told what they had.
            self._untold_share.begin(self._params)
        self._base = self._params.copy() if peers else self._params[:0]
        self._params -= self._handler.residual
        self._handler.residual.fill(0)

    def propose(self, update: FloatArray) -> SharedUpdate | None:
        """Return the message that proposes a first threshold, if one is due.

        `update`, our first one, is of shape (n_params,). None if nothing is to be
        agreed on: alone, or with a threshold that was given or comes from an earlier
        fit.
        """
        if self.is_alone or self._has_agreed or not self._handler.reads_first_threshold:
            return None
        self._has_agreed = True
        return SharedUpdate(
            phase=self._phase,
            position=0,
            ends=False,
            threshold=self._handler.threshold_for(update),
        )

    @property
    def undecided(self) -> frozenset[int]:
        """Peers that may yet propose a first threshold.

        Those that share already know a threshold from elsewhere.
        """
        return frozenset(
            rank
            for rank in self._waiting_for - self._proposed.keys()
            if not self.positions[rank]
        )

    def agree(self, own: SharedUpdate) -> None:
        """Start from the mean of the first thresholds that the members propose."""
        told = [*self._proposed.values(), own.threshold or math.nan]
        self._handler.start_from(self._mean(told))

    def heed_staleness(self, update: FloatArray, position: int) -> None:
        """Divide an own update by its staleness, if the master says so.

        Here and not where messages are taken in: each peer would divide the same one by
        another number, and bases would differ for good. Running statistics stay.

        Parameters
        ----------
        update : ndarray of shape (n,)
            What was just subtracted from the parameters; overwritten by what is.
        position : int
            Minibatches trained in this phase, this one included.
        """
        late = self._staleness(position) if self._master.staleness_aware else 0.0
        if late <= 1:
            return
        update /= late
        changed = self._params + (late - 1) * update
        self._statistics.copy_to(changed)
        self._params[...] = changed

    def _staleness(self, position: int) -> float:
        """Return of how many minibatches of a peer, on average, a gradient saw nothing.

        Supposing that they train as fast; of those that do not, nothing is known.
        """
        told = position - self._together
        behind = [told - self.positions[rank] for rank in self._waiting_for]
        known = [max(late, 0) for late in behind if late <= MOST_LATE]
        return sum(known) / len(known) if known else 0.0

    def count_update(self, iteration: int) -> bool:
        """Count an update of the parameters; return whether it is time to share.

        `iteration` is the network's counter.
        """
        self._untold += 1
        most = self._master.iterations_together
        self._together = iterations_together(most, iteration)
        return not self.is_alone and self._untold >= self._together

    def has_rest(self, position: int) -> bool:
        """Whether a phase ends, after `position` minibatches, with some to share.

        Where :meth:`end` shares all, it does not.
        """
        has_some = not self.is_alone and self._untold > 0
        return has_some and not self._ends_whole(position)

    def share(
        self,
        update: FloatArray,
        *,
        iteration: int,
        position: int,
        step_s: float = 0.0,
    ) -> SharedUpdate:
        """Take a message out of the residual, and return it for the peers.

        Parameters
        ----------
        update : ndarray of shape (n,)
            The last one that was subtracted; the threshold follows some of them. Not
            changed.
        iteration : int
            The network's counter; the clipping depends on it.
        position : int
            Minibatches trained in this phase, this one included.
        step_s : float
            Seconds that each of them takes.

        Raises
        ------
        DivergedError
            When a number in the residual is not finite: no message could carry it.
        """
        self._untold, self._position = 0, position
        self.measured = None
        # Statistics go their own way.
        self._statistics.copy_to(self._base)
        is_early = iteration < FOLLOW_EACH_UNTIL
        if is_early or not iteration % FOLLOW_EVERY:
            self._handler.follow(update)
        if iteration < self._warm_up:
            self._has_warmed_up = True
            data: NDArray[Any] | None = self._whole_residual()
        else:
            data = self._encoded(iteration)
        return SharedUpdate(
            phase=self._phase, position=position, ends=False, data=data, step_s=step_s
        )

    def receive(self, rank: int, message: SharedUpdate) -> None:
        """Take a peer's message in, which the parameters lose.

        Raises
        ------
        DamagedMessageError, StaleMessageError
            When the message is damaged, or has another length; nothing of it was taken
            in then.
        """
        if message.data is not None:
            self.take_in(np.asarray(message.data))
        if message.threshold is not None:
            self._proposed[rank] = message.threshold
        if message.phase == self._phase and rank in self.positions:
            self.note(
                rank,
                message.position,
                ends=message.ends,
                step_s=message.step_s,
                has_update=message.data is not None,
            )
            if message.statistics is not None:
                self._statistics.receive(rank, message.position, message.statistics)
        elif message.phase > self._phase:
            raise StaleMessageError(
                f"GradientSharingPeer: a message must belong to phase {self._phase} "
                f"or an older one, got phase {message.phase} from worker {rank}."
            )

    def take_in(self, message: NDArray[Any]) -> None:
        """Subtract an update that is not ours; raises as :meth:`receive`."""
        decoded = unpacked(message, self._params.size)
        decode_subtract(decoded, self._params)
        if self._is_sharing:
            decode_subtract(decoded, self._base)

    def give_back(self, message: NDArray[Any]) -> None:
        """Undo :meth:`take_in`, to rounding."""
        decoded = unpacked(message, self._params.size)
        decode_add(decoded, self._params)
        if self._is_sharing:
            decode_add(decoded, self._base)

    def replace_base(self, base: FloatArray) -> None:
        """Go on from another base of shape (n,), which is kept; not alone."""
        self._statistics.copy_to(self._base)
        self._statistics.copy_to(base)
        self._params -= self._base - base
        self._base = base

    def note(
        self,
        rank: int,
        position: int,
        *,
        ends: bool = False,
        step_s: float = 0.0,
        has_update: bool = True,
    ) -> None:
        """Note where a peer of this phase stands; see :class:`SharedUpdate`.

        `has_update` says whether we got an update of it with that.
        """
        if has_update:
            self.staleness.add(self._position - position)
        self.positions[rank] = max(self.positions[rank], position)
        self._steps_s[rank] = step_s or self._steps_s.get(rank, 0.0)
        if ends:
            self._waiting_for.discard(rank)

    def left(self, rank: int) -> None:
        """Go on without a peer; the last one to go leaves the residual to us.

        It is in our parameters. Not when the session ends: peers that returned have
        left as well, with a network that must be ours.
        """
        self._waiting_for.discard(rank)
        was_alone = self.is_alone
        self._peers.discard(rank)
        if self.is_alone and not was_alone and not self._is_last_phase:
            self._base = self._params[:0]
            self._handler.residual.fill(0)

    def end(self, position: int) -> SharedUpdate:
        """Return the last message of a phase.

        It carries the whole residual, as a dense update, where next to nothing of it
        was sent: after the first few minibatches, see design 0012, or of what each
        iteration moves another part, see design 0080.
        """
        self._ended_whole = is_whole = self._is_sharing and self._ends_whole(position)
        return SharedUpdate(
            phase=self._phase,
            position=position,
            ends=True,
            data=self._whole_residual() if is_whole else None,
            statistics=self._statistics.values(),
        )

    def finish(self) -> None:
        """End the session with the phase that begins next, in which nothing is shared.

        What is in the residual stays there: it was no part of the network that was
        scored (see design 0012).
        """
        self._is_last_phase = True

    def mean_threshold(self, thresholds: Sequence[float]) -> float:
        """Return the mean of where all members stand, NaN if none ever shared.

        Without `thresholds`, of all of them, it is where we stand.
        """
        return self._mean(thresholds or [self.threshold]).threshold

    def _mean(self, thresholds: Sequence[float]) -> ThresholdState:
        states = [ThresholdState(threshold=threshold) for threshold in thresholds]
        return self._master.threshold_algorithm.reduce(states)

    def conclude(self, position: int) -> None:
        """End the phase, now that every peer has ended it.

        `position` is how many minibatches were trained in it.
        """
        self._trained += position
        self._since_whole = 0 if self._ended_whole else self._since_whole + position
        self.return_to_base()
        self._statistics.average(position)

    def take_statistics(self, mean: FloatArray) -> None:
        """Take over running statistics, (n_statistics,), before the phase is over."""
        self._statistics.take(mean)

    def return_to_base(self) -> None:
        """Make the parameters what all members know, and keep the residual aside."""
        if self._is_sharing:
            self._measure_residual()
            self._params[...] = self._base
            self._base = self._params[:0]

    @property
    def _is_sharing(self) -> bool:
        return self._base.size > 0

    @property
    def _warm_up(self) -> int:
        told = self._master.warm_up
        if told is not None:
            return told
        return WARM_UP if len(self._peers) + 1 >= WARMED_UP_FROM else 0

    def _ends_whole(self, position: int) -> bool:
        has_few = self._trained + position < WHOLE_BELOW
        if position > 0 and has_few and not self._has_warmed_up:
            return True
        # Otherwise each epoch of few minibatches would be told densely.
        has_enough = self._since_whole + position >= WHOLE_BELOW
        return has_enough and self._is_untold

    @property
    def _is_untold(self) -> bool:
        """Whether messages do not carry what is learned; DL4J's thresholds stay so."""
        return (
            self._master.threshold_algorithm.first_share is not None
            and self._untold_share.of(self._base, self._params) >= MOST_UNTOLD
        )

    def _encoded(self, iteration: int) -> NDArray[np.uint8] | None:
        message = self._handler.encode_difference(self._base, self._params)
        if message is None:
            return None
        self._process_residual(iteration)
        return pack(message, is_near=self._are_near)

    def _measure(self, residual: FloatArray, threshold: float) -> None:
        self.measured = residual_statistics(residual, threshold)

    def _measure_residual(self) -> None:
        # Statistics go their own way.
        self._statistics.copy_to(self._base)
        np.subtract(self._base, self._params, out=self._handler.residual)

    def _process_residual(self, iteration: int) -> None:
        """Do what is due since the last message; the parameters follow the residual."""
        processor = self._master.residual_post_processor
        last = iteration - self._master.iterations_together
        since = range(max(self._processed, last) + 1, iteration + 1)
        due = [number for number in since if processor.is_due(number)]
        self._processed = iteration
        if due:
            processor.process_difference(
                self._params,
                self._base,
                iteration=due[-1],
                tau=self._handler.threshold,
                scratch=self._handler.residual,
            )

    def _whole_residual(self) -> FloatArray:
        self._measure_residual()
        whole: FloatArray = self._handler.residual.copy()
        check_finite(whole)
        # As the peers do it: their bits are to be ours.
        self._base -= whole
        self._params[...] = self._base
        self._untold_share.begin(self._base)
        return whole
