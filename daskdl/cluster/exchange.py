"""The worker's exchange with its peers: the masters' pure rules, on a bus topic.

All exchanges follow one life: ``begin`` a phase, take part in every iteration through
:class:`~daskdl.nn.fitting.exchange.Exchange`, ``end`` the phase when every peer that is
alive has ended it, and ``finish`` the session.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from daskdl.arrays.flat import Slot
from daskdl.arrays.host_vector import HostVector
from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.cluster.bus import Joined, Left, Message, Topic
from daskdl.cluster.exchanges.dense_rounds import DenseRounds
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.combining import plain_mean, weighted_mean
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Contribution, Total
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer, SharedUpdate
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingMaster,
)
from daskdl.cluster.masters.round_sizes import RoundSizes
from daskdl.cluster.masters.staleness import StalenessTally
from daskdl.cluster.workload import Workload
from daskdl.errors import StepTimeoutError
from daskdl.nn.network import Network

Stage: TypeAlias = tuple[int, int, int]
"""The phase, how often all have waited for all in it, and how far the next wait is."""

POLL_S = 0.05
# Of a member that has nothing to train: more work, or the end, comes at any moment.
IDLE_S = 0.005
# Of our own gradients: on fewer cores than workers, one round takes that many.
KEEP_UP_GRADIENTS = 4
# A step's time is the mean of about so many.
STEPS_MEASURED = 8
# However long a minibatch takes, a stop must be heard.
KEEP_UP_S = 1.0


class ClusterExchange(ABC):
    """The base of the exchanges: the topic, its members, and bounded waits.

    Attributes
    ----------
    complain : callable
        Called with the ranks of peers that were not heard of in `peer_timeout_s`, or of
        nobody any more, and the stage of the phase. The driver may have one of us go;
        who still waits after twice that time gives up.
    """

    adds_up_gradients = False

    def __init__(
        self, rank: int, topic: Topic, mailbox: Mailbox, master: TrainingMaster
    ) -> None:
        self._rank = rank
        self._topic = topic
        self._mailbox = mailbox
        self._timeout_s = master.peer_timeout_s
        self._ranks: dict[str, int] = {}
        self._gone: set[int] = set()
        self._phase = -1
        self._workload = Workload(-1)
        self._trained = 0
        self._waits = 0  # in this phase, that have ended
        self.complain: Callable[[Iterable[int], Stage], None] = _to_nobody

    @property
    def trained(self) -> int:
        """Minibatches trained in this phase."""
        return self._trained

    @property
    @abstractmethod
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer in this phase whose updates we have."""

    def gradients(self, network: Network[Any], examples: int) -> int:
        """Return `examples`: gradients stay those of a member's own minibatch."""
        return examples

    @property
    def may_move(self) -> bool:
        """Whether the balance of members may move minibatches."""
        return True

    @abstractmethod
    def updated(self, network: Network[Any]) -> None:
        """Share, if the master says so, after an update of the parameters.

        It is in ``network.gradients``, (n_params,), and was subtracted.
        """

    @abstractmethod
    def iteration_done(self, network: Network[Any], examples: int) -> None:
        """Do the exchange's work between two iterations."""

    @abstractmethod
    def idle(self, network: Network[Any]) -> None:
        """Do for a moment what peers need, while there is nothing to train."""

    @abstractmethod
    def end(self, network: Network[Any]) -> None:
        """End the phase together with all peers that are alive."""

    @abstractmethod
    def finish(
        self, network: Network[Any], phase: int, members: frozenset[int]
    ) -> None:
        """Make all replicas equal before the network is returned."""

    @property
    def threshold(self) -> float:
        """The threshold from which later fits and newcomers start; NaN if none."""
        return math.nan

    @property
    def staleness(self) -> StalenessTally:
        """How late what peers shared was; no message if nothing is shared."""
        return StalenessTally()

    @abstractmethod
    def _begin(self, network: Network[Any], peers: frozenset[int]) -> None: ...

    @abstractmethod
    def _receive(self, rank: int, data: Any) -> None: ...

    @abstractmethod
    def _left(self, rank: int) -> None: ...

    def begin(
        self, network: Network[Any], members: frozenset[int], workload: Workload
    ) -> None:
        """Start a phase: wait until every member is here or known to be gone."""
        self._phase, self._workload, self._trained = workload.phase, workload, 0
        self._waits = 0
        self._note_members()
        peers = members - {self._rank}
        self._begin(network, frozenset(peers - self._gone))
        self._wait("join", lambda: peers - self._gone - set(self._ranks.values()))

    def _note_members(self) -> None:
        for member, entry in self._topic.members().items():
            self._ranks.setdefault(member, entry.meta["rank"])

    def _publish(self, data: Any, *, copy: bool = True, **how: Any) -> None:
        silence = _Silence(self._timeout_s, time.monotonic())

        def blocked() -> None:
            self._drain()
            self._look_up()
            if silence.is_too_long(time.monotonic()):
                behind = self._topic.behind()
                ranks = [self._ranks[m] for m in behind if m in self._ranks]
                self._complain(ranks, has_sent=False)

        self._topic.publish(
            data, copy=copy, timeout_s=2 * self._timeout_s, on_block=blocked, **how
        )

    def _send(self, message: RoundMessage, to: int | None) -> None:
        """Send a message of a round to a rank, or with None to all."""
        member = None
        if to is not None:
            there = [member for member, rank in self._ranks.items() if rank == to]
            if not there:
                return
            member = there[0]
        # Of sums nobody writes, parameters go on.
        copy = message.message.what != "sum"
        self._publish(message, copy=copy, to=member, is_whole=True)

    def _drain(self) -> None:
        for event in self._topic.drain():
            self._handle(event)

    def _take_event(self) -> None:
        """Wait a moment for an event."""
        event = self._topic.get(IDLE_S)
        if event is not None:
            self._handle(event)

    def _wait(
        self,
        purpose: str,
        missing: Callable[[], Any],
        step: Callable[[], int] = lambda: 0,
    ) -> None:
        """Handle events until no member is missing; each restarts the time-out."""
        silence = _Silence(self._timeout_s, time.monotonic())
        while absent := missing():
            event = self._topic.get(POLL_S)
            now = time.monotonic()
            if event is not None:
                self._handle(event)
                if silence.has_complained:
                    self._complain((), has_sent=True)
                silence = _Silence(self._timeout_s, now)
                continue
            self._look_up()
            if silence.is_too_long(now):
                self._complain(absent, has_sent=True, step=step())
            if now > silence.end_s:
                raise StepTimeoutError(
                    f"Session worker {self._rank}: workers {sorted(absent)} must "
                    f"{purpose} phase {self._phase} within {2 * self._timeout_s:g} s, "
                    "got nothing from them. Raise peer_timeout_s if a step takes "
                    "longer."
                )
        self._waits += 1

    def _look_up(self) -> None:
        """Hear what the driver says: to stop, or who is gone."""
        self._mailbox.check_stop()
        for rank in self._mailbox.gone - self._gone:
            self._note_gone(rank)

    def _complain(self, ranks: Iterable[int], *, has_sent: bool, step: int = 0) -> None:
        # Who cannot send keeps all others waiting, of whom none is at fault.
        self.complain(ranks, (self._phase, 2 * self._waits + has_sent, step))

    def _handle(self, event: Message | Joined | Left) -> None:
        if isinstance(event, Message):
            rank = self._ranks.get(event.source)
            if rank is None:
                self._note_members()
                rank = self._ranks[event.source]
            self._receive(rank, event.data)
        elif isinstance(event, Joined):
            self._ranks[event.member] = event.meta["rank"]
        elif event.member in self._ranks:
            self._note_gone(self._ranks.pop(event.member))

    def _note_gone(self, rank: int) -> None:
        if rank not in self._gone:
            self._gone.add(rank)
            self._left(rank)


class _Silence:
    """How long nothing has come: time to complain, once, and then to give up."""

    def __init__(self, limit_s: float, now_s: float) -> None:
        self._complain_s = now_s + limit_s
        self.end_s = now_s + 2 * limit_s

    @property
    def has_complained(self) -> bool:
        """Whether it was too long already."""
        return math.isinf(self._complain_s)

    def is_too_long(self, now_s: float) -> bool:
        """Return True once, when it is time to complain."""
        if now_s <= self._complain_s:
            return False
        self._complain_s = math.inf
        return True


def _to_nobody(ranks: Iterable[int], stage: Stage) -> None:
    """Take a complaint where there is no driver."""


class GradientSharingExchange(ClusterExchange):
    """Gradient sharing over a topic whose slow subscribers get merged updates."""

    def __init__(
        self,
        rank: int,
        topic: Topic,
        mailbox: Mailbox,
        master: SharedTrainingMaster,
        params: FloatArray,
        running_slots: Sequence[Slot] = (),
        threshold: float = math.nan,
    ) -> None:
        super().__init__(rank, topic, mailbox, master)
        # Messages are made and taken in by kernels of the CPU.
        self._params = HostVector(params)
        self._peer = GradientSharingPeer(
            master, self._params.host, running_slots, threshold
        )
        self._settled_s = 0.0
        self._step_s = 0.0
        self._rounds = DenseRounds(rank, self._send, self._wait)
        self._thresholds: list[float] = []

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer whose updates reached our parameters."""
        return dict(self._peer.positions)

    def begin(
        self, network: Network[Any], members: frozenset[int], workload: Workload
    ) -> None:
        """Start a phase; a peer that is gone may leave its residual to us."""
        with self._params.lent():
            super().begin(network, members, workload)
        self._settled_s = time.monotonic()

    def updated(self, network: Network[Any]) -> None:
        """Share the updates if it is time, and apply those that peers sent."""
        self._measure_step()
        # Of several updates of one minibatch, which truncated backpropagation through
        # time makes, the first one counts it.
        position = self._trained + 1
        with self._params.lent():
            self._drain()
            if self._peer.count_update(network.iteration_count):
                update = to_host(network.gradients)
                self._agree(update)
                self._share(network, update, position)
                self._let_peers_keep_up()
                self._let_peers_catch_up(position)
                # The next gradient is to see all that has come until then.
                self._drain()
        self._settled_s = time.monotonic()

    def _share(self, network: Network[Any], update: FloatArray, position: int) -> None:
        # Peers may have gone while a threshold was agreed on.
        if self._peer.is_alone:
            return
        iteration = network.iteration_count
        message = self._peer.share(
            update, iteration=iteration, position=position, step_s=self._step_s
        )
        # Its array was made for it.
        self._publish(message.to_wire(), copy=False)

    def _measure_step(self) -> None:
        took_s = time.monotonic() - self._settled_s
        weight = 1 / STEPS_MEASURED if self._step_s else 1.0
        self._step_s += weight * (took_s - self._step_s)

    def _let_peers_keep_up(self) -> None:
        """Wait for peers that are a little behind, as long as some gradients take.

        Replicas that see each other late learn worse; see design 0012.
        """
        patience_s = min(KEEP_UP_GRADIENTS * self._step_s, KEEP_UP_S)
        deadline = time.monotonic() + patience_s
        while self._peer.is_waited_for(self._trained + 1, self._step_s):
            event = self._topic.get(max(deadline - time.monotonic(), 0))
            if event is None:
                return
            self._handle(event)

    def _let_peers_catch_up(self, position: int) -> None:
        """Wait for peers that are further behind than the master allows."""
        if self._peer.too_far_behind(position):
            self._wait("catch up in", lambda: self._peer.too_far_behind(position))
            # Others have not waited with us.
            self._waits -= 1

    def _agree(self, update: FloatArray) -> None:
        """Before the first update is shared, find a threshold together."""
        proposal = self._peer.propose(update)
        if proposal is None:
            return
        self._publish(proposal.to_wire())
        self._wait("share their first update in", lambda: self._peer.undecided)
        self._peer.agree(proposal)

    def iteration_done(self, network: Network[Any], examples: int) -> None:
        """Count the minibatch: sharing happened with its update."""
        self._trained += 1

    def idle(self, network: Network[Any]) -> None:
        """Take in what peers send."""
        with self._params.lent():
            self._take_event()
            self._drain()

    def end(self, network: Network[Any]) -> None:
        """Take in every message of the phase."""
        with self._params.lent():
            if self._peer.has_rest(self._trained):
                self._share(network, to_host(network.gradients), self._trained)
            if not self._peer.is_alone:
                self._publish(self._peer.end(self._trained).to_wire())
            self._wait("end", lambda: self._peer.waiting_for)
            self._peer.conclude(self._trained)
        network.hold_constraints()

    def finish(
        self, network: Network[Any], phase: int, members: frozenset[int]
    ) -> None:
        """Average the updater states, and where the thresholds stand."""
        self._peer.finish()
        self.begin(network, members, Workload(phase))
        with self._params.lent():
            own = Contribution(
                iteration_count=network.iteration_count, threshold=self._peer.threshold
            )
            state = to_host(network.updater_state)
            total = self._rounds.take("finish", own, [state], plain_mean)
            self._rounds.end()
            self._peer.return_to_base()
        network.hold_constraints()
        if total.vectors is not None:
            state = total.vectors[0]
            network.updater_state[...] = to_device(state, network.updater_state)
        told = total.contributions.values()
        network.iteration_count = max(item.iteration_count for item in told)
        self._thresholds = [
            item.threshold for item in told if item.threshold is not None
        ]

    @property
    def threshold(self) -> float:
        """The mean threshold of the members; NaN before any update was shared."""
        return self._peer.mean_threshold(self._thresholds)

    @property
    def staleness(self) -> StalenessTally:
        """How many minibatches late the messages of peers were."""
        return self._peer.staleness

    def _begin(self, network: Network[Any], peers: frozenset[int]) -> None:
        self._peer.begin(self._phase, peers)
        self._rounds.begin(self._phase, peers)

    def _receive(self, rank: int, data: Any) -> None:
        if isinstance(data, RoundMessage):
            self._rounds.receive(rank, data)
        else:
            self._peer.receive(rank, SharedUpdate(**data))

    def _left(self, rank: int) -> None:
        self._peer.left(rank)
        self._rounds.left(rank)


class RoundsExchange(ClusterExchange):
    """The base of exchanges that take rounds of dense vectors with all their peers."""

    def __init__(
        self, rank: int, topic: Topic, mailbox: Mailbox, master: TrainingMaster
    ) -> None:
        super().__init__(rank, topic, mailbox, master)
        self._rounds = DenseRounds(rank, self._send, self._wait)
        self._positions: dict[int, int] = {}
        self._is_over = False  # whether nobody had anything left in the last round

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer that are in the last round."""
        return dict(self._positions)

    @abstractmethod
    def _take_part(self, network: Network[Any]) -> None:
        """Take a round for the sake of peers that have minibatches left."""

    def updated(self, network: Network[Any]) -> None:
        """Do nothing: what is shared are not updates."""

    def idle(self, network: Network[Any]) -> None:
        """Take part in the rounds of peers that have minibatches left."""
        if self._rounds.is_awaited and not self._is_over:
            self._take_part(network)
        else:
            self._take_event()

    def finish(
        self, network: Network[Any], phase: int, members: frozenset[int]
    ) -> None:
        """Do nothing: the last round left all replicas equal."""

    def _begin(self, network: Network[Any], peers: frozenset[int]) -> None:
        self._rounds.begin(self._phase, peers)
        self._positions = dict.fromkeys(peers, 0)
        self._is_over = not peers

    def _note(self, total: Total) -> None:
        """Note what all told in a round."""
        told = total.contributions.items()
        self._positions.update({rank: item.position for rank, item in told})
        self._positions.pop(self._rank, None)
        self._is_over = total.is_last

    def _receive(self, rank: int, data: Any) -> None:
        if isinstance(data, RoundMessage):
            self._rounds.receive(rank, data)

    def _left(self, rank: int) -> None:
        self._rounds.left(rank)


class ParameterAveragingExchange(RoundsExchange):
    """Rounds of parameter averaging, in which every member that is alive takes part."""

    def __init__(
        self,
        rank: int,
        topic: Topic,
        mailbox: Mailbox,
        master: ParameterAveragingTrainingMaster,
        updater_state: FloatArray,
    ) -> None:
        super().__init__(rank, topic, mailbox, master)
        self._master = master
        self._first_state = None if master.save_updater else updater_state.copy()
        self._since_round = 0
        self._examples = 0
        self._began_s = 0.0
        self._sizes = RoundSizes(
            rank,
            master.averaging_frequency,
            is_fixed=master.dealing == "fixed",
        )

    @property
    def may_move(self) -> bool:
        """Whether members differ so much in speed that their rounds differ in size."""
        return self._sizes.are_uneven

    def iteration_done(self, network: Network[Any], examples: int) -> None:
        """Count, and average when the round is full."""
        self._trained += 1
        self._since_round += 1
        self._examples += examples
        if self._since_round >= self._sizes.own:
            self._take_part(network)

    def end(self, network: Network[Any]) -> None:
        """Take part in rounds until every member has trained all its minibatches."""
        if self._since_round:
            self._take_part(network)
        while not self._is_over:
            self._take_part(network)
        self._rounds.end()

    def _begin(self, network: Network[Any], peers: frozenset[int]) -> None:
        super()._begin(network, peers)
        self._began_s = time.monotonic()

    def _take_part(self, network: Network[Any]) -> None:
        own = Contribution(
            position=self._trained,
            **self._workload.left_after(self._trained),
            minibatches=self._since_round,
            seconds=time.monotonic() - self._began_s,
            examples=self._examples,
            iteration_count=network.iteration_count,
        )
        vectors = [network.params]
        if self._master.save_updater:
            vectors.append(network.updater_state)
        brought = [to_host(vector) for vector in vectors]
        total = self._rounds.take("average", own, brought, weighted_mean)
        for vector, mean in zip(vectors, total.vectors or (), strict=False):
            vector[...] = to_device(mean, vector)
        if self._first_state is not None:
            network.updater_state[...] = self._first_state
        told = total.contributions
        network.iteration_count = max(item.iteration_count for item in told.values())
        self._note(total)
        self._sizes.take({rank: (i.minibatches, i.seconds) for rank, i in told.items()})
        self._since_round = self._examples = 0
        self._began_s = time.monotonic()
