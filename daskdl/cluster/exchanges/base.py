"""The base of exchanges with peers: the masters' pure rules, on a bus topic.

All exchanges follow one life: ``begin`` a phase, take part in every iteration through
:class:`~daskdl.nn.fitting.exchange.Exchange`, ``end`` the phase when every peer that is
alive has ended it, and ``finish`` the session.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.bus import Joined, Left, Message, Topic
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.masters.staleness import StalenessTally
from daskdl.cluster.stats.spans import SpanRecorder
from daskdl.cluster.workload import Workload
from daskdl.errors import StepTimeoutError
from daskdl.nn.fitting.trained import Trained

Stage: TypeAlias = tuple[int, int, int]
"""The phase, how often all have waited for all in it, and how far the next wait is."""

NO_HOSTS: Mapping[int, str] = MappingProxyType({})
"""Of members of which nobody says where they are."""

POLL_S = 0.05
# Of a member that has nothing to train: more work, or the end, comes at any moment.
IDLE_S = 0.005


class ClusterExchange(ABC):
    """The base of the exchanges: the topic, its members, and bounded waits.

    Attributes
    ----------
    complain : callable
        Called with the ranks of peers that were not heard of in `peer_timeout_s`, or of
        nobody any more, and the stage of the phase. The driver may have one of us go;
        who still waits after twice that time gives up.
    spans : SpanRecorder
        Of the member's thread: what it does when.
    """

    adds_up_gradients = False
    # Whether own parameters and those that are returned may differ.
    keeps_residual = False

    def __init__(
        self, rank: int, topic: Topic, mailbox: Mailbox, master: TrainingMaster
    ) -> None:
        self._rank = rank
        self._topic = topic
        self._mailbox = mailbox
        self._timeout_s = master.peer_timeout_s
        self._ranks: dict[str, int] = {}
        self._gone: set[int] = set()
        self._members: frozenset[int] = frozenset()  # of this phase, ourselves included
        self._hosts = NO_HOSTS
        self._phase = -1
        self._workload = Workload(-1)
        self._trained = 0
        self._waits = 0  # in this phase, that have ended
        self.complain: Callable[[Iterable[int], Stage], None] = _to_nobody
        self.spans = SpanRecorder()

    @property
    def trained(self) -> int:
        """Minibatches trained in this phase."""
        return self._trained

    @property
    @abstractmethod
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer in this phase whose updates we have."""

    def gradients(self, network: Trained, examples: int) -> int:
        """Return `examples`: gradients stay those of a member's own minibatch."""
        return examples

    @property
    def may_move(self) -> bool:
        """Whether the balance of members may move minibatches."""
        return True

    @property
    def stops_anywhere(self) -> bool:
        """Whether a member may end a phase behind any minibatch, alone."""
        return True

    @abstractmethod
    def updated(self, network: Trained) -> None:
        """Share, if the master says so, after an update of the parameters.

        It is in ``network.gradients``, (n_params,), and was subtracted.
        """

    @abstractmethod
    def iteration_done(self, network: Trained, examples: int) -> None:
        """Do the exchange's work between two iterations."""

    @abstractmethod
    def idle(self, network: Trained) -> None:
        """Do for a moment what peers need, while there is nothing to train."""

    @abstractmethod
    def end(self, network: Trained) -> None:
        """End the phase together with all peers that are alive."""

    @abstractmethod
    def finish(self, network: Trained, phase: int, members: frozenset[int]) -> None:
        """Make all replicas equal before the network is returned."""

    def state_dict(self) -> dict[str, Any]:
        """Return what this member alone has, between two phases; nothing by default.

        A later session goes on with it. Values are arrays, copied and on the host, or
        as JSON has them; see :func:`~daskdl.cluster.masters.regrouping.regrouped`.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Restore the result of :meth:`state_dict`, before the first phase."""

    @property
    def residual(self) -> FloatArray | None:
        """What own parameters lack of those of all, (n_params,), between two phases."""
        return None

    @property
    def threshold(self) -> float:
        """The threshold from which later fits and newcomers start; NaN if none."""
        return math.nan

    @property
    def velocity(self) -> FloatArray | None:
        """The outer momentum, (n_params,), with which newcomers start; None if none."""
        return None

    @property
    def staleness(self) -> StalenessTally:
        """How late what peers shared was; no message if nothing is shared."""
        return StalenessTally()

    def take_residuals(self) -> list[dict[str, Any]]:
        """Return what was measured of residuals; nothing unless that is asked for."""
        return []

    @abstractmethod
    def _begin(self, network: Trained, peers: frozenset[int]) -> None: ...

    @abstractmethod
    def _receive(self, rank: int, data: Any) -> None: ...

    @abstractmethod
    def _left(self, rank: int) -> None: ...

    @abstractmethod
    def _answer(self) -> None:
        """Send what the events ask for that were handled.

        Not called in the midst of several: whoever waits for room handles later ones.
        """

    def begin(
        self,
        network: Trained,
        members: frozenset[int],
        workload: Workload,
        hosts: Mapping[int, str] = NO_HOSTS,
    ) -> None:
        """Start a phase: wait until every member is here or known to be gone.

        `hosts` are those of the members, the same for all.
        """
        self._phase, self._workload, self._trained = workload.phase, workload, 0
        self._members, self._hosts = members, hosts
        self._waits = 0
        self._note_members()
        peers = members - {self._rank}
        self._begin(network, frozenset(peers - self._gone))
        self._wait("join", lambda: peers - self._gone - set(self._ranks.values()))

    def _note_members(self) -> None:
        for member, entry in self._topic.members().items():
            self._ranks.setdefault(member, entry.meta["rank"])

    def _publish(
        self, data: Any, *, to: int | None = None, copy: bool = True, **how: Any
    ) -> None:
        """Send to a rank, unless it is gone, or with None to all."""
        if to is not None:
            member = self._member(to)
            if member is None:
                return
            how["to"] = member
        silence = _Silence(self._timeout_s, time.monotonic())

        before = self.spans.doing

        def blocked() -> None:
            self.spans.turn_to("wait")
            self._drain()
            self._look_up()
            if silence.is_too_long(time.monotonic()):
                self._complain(self._behind(), has_sent=False)

        self._topic.publish(
            data, copy=copy, timeout_s=2 * self._timeout_s, on_block=blocked, **how
        )
        self.spans.turn_to(before)

    def _member(self, rank: int) -> str | None:
        """Return the id of a rank on the topic; None if it is not there."""
        there = [member for member, known in self._ranks.items() if known == rank]
        return there[0] if there else None

    def _behind(self) -> list[int]:
        """Return the ranks that take nothing of what we sent."""
        behind = self._topic.behind()
        return [self._ranks[member] for member in behind if member in self._ranks]

    def _send(self, message: RoundMessage, to: int | None) -> None:
        """Send a message of a round to a rank, or with None to all."""
        # Of sums nobody writes, parameters go on.
        copy = message.message.what != "sum"
        self._publish(
            message, to=to, copy=copy, is_whole=True, is_brief=message.is_brief
        )

    def _has_room(self, message: RoundMessage, to: int | None) -> bool:
        """Return whether :meth:`_send` would not wait."""
        member = None if to is None else self._member(to)
        if to is not None and member is None:
            return True
        return self._topic.has_room(message.message.nbytes, member)

    def _drain(self) -> None:
        for event in self._topic.drain():
            self._handle(event)
        self._answer()

    def _take_event(self) -> None:
        """Wait a moment for an event."""
        event = self._get(IDLE_S)
        if event is not None:
            self._handle(event)
            self._answer()

    def _get(self, timeout_s: float) -> Message | Joined | Left | None:
        with self.spans.wait:
            return self._topic.get(timeout_s)

    def _wait(
        self,
        purpose: str,
        missing: Callable[[], Any],
        step: Callable[[], int] = lambda: 0,
    ) -> None:
        """Handle events until no member is missing; each restarts the time-out."""
        silence = _Silence(self._timeout_s, time.monotonic())
        while absent := missing():
            event = self._get(POLL_S)
            now = time.monotonic()
            if event is not None:
                self._handle(event)
                self._answer()
                if silence.has_complained:
                    self._complain((), has_sent=True)
                silence = _Silence(self._timeout_s, now)
                continue
            self._look_up()
            self._answer()
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
