"""Gradient sharing on a topic: what is sent when, and who is waited for."""

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from daskdl.arrays.flat import Slot
from daskdl.arrays.host_vector import HostVector
from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.base import NO_HOSTS, ClusterExchange
from daskdl.cluster.exchanges.dense_rounds import DenseRounds
from daskdl.cluster.exchanges.mesh import Mesh
from daskdl.cluster.exchanges.plain_mesh import PlainMesh
from daskdl.cluster.exchanges.tree_mesh import TreeMesh
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.combining import plain_sum
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.shared_update import SharedUpdate
from daskdl.cluster.masters.staleness import StalenessTally
from daskdl.cluster.masters.tree_messages import InPhase
from daskdl.cluster.workload import Workload
from daskdl.nn.fitting.trained import Trained

logger = logging.getLogger(__name__)

# Of our own gradients: on fewer cores than workers, one round takes that many.
KEEP_UP_GRADIENTS = 4
# A step's time is the mean of about so many.
STEPS_MEASURED = 8
# However long a minibatch takes, a stop must be heard.
KEEP_UP_S = 1.0


class GradientSharingExchange(ClusterExchange):
    """Gradient sharing over a topic whose slow subscribers get merged updates."""

    keeps_residual = True

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
        self._rounds = DenseRounds(rank, self._send, self._has_room, self._wait)
        self._master = master
        self._mesh: Mesh = PlainMesh(self._peer, self._publish, self._wait)
        self._is_finishing = False
        self._thresholds: list[float] = []
        self._residuals: list[dict[str, Any]] = []

    @property
    def positions(self) -> dict[int, int]:
        """Minibatches of each peer whose updates reached our parameters."""
        return self._mesh.positions

    def begin(
        self,
        network: Trained,
        members: frozenset[int],
        workload: Workload,
        hosts: Mapping[int, str] = NO_HOSTS,
    ) -> None:
        """Start a phase; a peer that is gone may leave its residual to us."""
        with self._params.lent():
            super().begin(network, members, workload, hosts)
            self._answer()
        self._settled_s = time.monotonic()

    def updated(self, network: Trained) -> None:
        """Share the updates if it is time, and apply those that peers sent."""
        self._measure_step()
        # Of several updates of one minibatch, which truncated backpropagation through
        # time makes, the first one counts it.
        position = self._trained + 1
        with self._params.lent():
            update = network.gradients
            if self._master.staleness_aware:
                update = to_host(update)
                # Before more comes in, which its gradient has not seen.
                self._peer.heed_staleness(update, position)
            self._drain()
            if self._peer.count_update(network.iteration_count):
                update = to_host(update)
                self._agree(update)
                self._share(network, update, position)
                self._let_peers_keep_up()
                self._let_peers_catch_up(position)
                # The next gradient is to see all that has come until then.
                self._drain()
            self._pass_on()
        self._settled_s = time.monotonic()

    def _share(self, network: Trained, update: FloatArray, position: int) -> None:
        # Peers may have gone while a threshold was agreed on.
        if self._peer.is_alone:
            return
        iteration = network.iteration_count
        with self.spans.encode:
            message = self._peer.share(
                update, iteration=iteration, position=position, step_s=self._step_s
            )
            self._note_residual(iteration)
            self._mesh.tell(message)

    def _note_residual(self, iteration: int) -> None:
        measured = self._peer.measured
        if measured is not None:
            logger.info("Worker %d, iteration %d: %s", self._rank, iteration, measured)
            self._residuals.append({"iteration": iteration, **asdict(measured)})

    def take_residuals(self) -> list[dict[str, Any]]:
        """Return what was measured of residuals since this was last asked."""
        taken, self._residuals = self._residuals, []
        return taken

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
            event = self._get(max(deadline - time.monotonic(), 0))
            if event is None:
                return
            self._handle(event)
            self._answer()

    def _let_peers_catch_up(self, position: int) -> None:
        """Wait for peers that are further behind than the master allows."""

        def missing() -> frozenset[int]:
            # We may be what others wait for.
            self._pass_on()
            return self._mesh.silent(self._peer.too_far_behind(position))

        if missing():
            self._wait("catch up in", missing, lambda: self._mesh.step)
            # Others have not waited with us.
            self._waits -= 1

    def _agree(self, update: FloatArray) -> None:
        """Before the first update is shared, find a threshold together."""
        with self.spans.encode:
            proposal = self._peer.propose(update)
        if proposal is None:
            return
        # Whole: in a tree a merge would drop what is on its way.
        self._publish(proposal.to_wire(), is_whole=True)
        self._wait("share their first update in", lambda: self._peer.undecided)
        self._peer.agree(proposal)

    def iteration_done(self, network: Trained, examples: int) -> None:
        """Count the minibatch: sharing happened with its update."""
        self._trained += 1

    def idle(self, network: Trained) -> None:
        """Take in what peers send."""
        with self._params.lent():
            self._take_event()
            self._drain()
            self._pass_on()

    def end(self, network: Trained) -> None:
        """Take in every message of the phase."""
        with self._params.lent():
            if self._peer.has_rest(self._trained):
                self._share(network, to_host(network.gradients), self._trained)
            with self.spans.take_in:
                self._mesh.end(self._peer.end(self._trained))
                self._peer.conclude(self._trained)
        network.hold_constraints()

    def finish(self, network: Trained, phase: int, members: frozenset[int]) -> None:
        """Tell counters, and where the thresholds stand.

        Each keeps an updater state of its own: those of members that trained as much
        are alike, and whose network is returned trained as much as any.
        """
        self._peer.finish()
        self._is_finishing = True
        self.begin(network, members, Workload(phase))
        with self._params.lent():
            own = Contribution(
                iteration_count=network.iteration_count,
                threshold=self._peer.threshold,
                examples=0,
            )
            with self.spans.take_in:
                total = self._rounds.take("finish", own, [], plain_sum)
                self._rounds.end()
                self._peer.return_to_base()
        network.hold_constraints()
        told = total.contributions.values()
        network.iteration_count = max(item.iteration_count for item in told)
        self._thresholds = [
            item.threshold for item in told if item.threshold is not None
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return the residual, and how messages are made."""
        return self._peer.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with a residual, and with messages of the same kind."""
        self._peer.load_state_dict(state)

    @property
    def residual(self) -> FloatArray:
        """What this member has not told the others, (n_params,), on the host."""
        return self._peer.residual

    @property
    def threshold(self) -> float:
        """The mean threshold of the members; NaN before any update was shared."""
        return self._peer.mean_threshold(self._thresholds)

    @property
    def staleness(self) -> StalenessTally:
        """How many minibatches late the messages of peers were."""
        return self._peer.staleness

    def _begin(self, network: Trained, peers: frozenset[int]) -> None:
        self._peer.begin(self._phase, peers, are_near=self._are_on_one_host)
        self._rounds.begin(self._phase, peers)
        self._mesh = self._new_mesh()
        # All members make the same tree, whoever has heard of whom.
        for rank in self._members & self._gone:
            self._mesh.left(rank)

    @property
    def _are_on_one_host(self) -> bool:
        hosts = {self._hosts.get(rank) for rank in self._members}
        return len(hosts) == 1 and None not in hosts

    def _new_mesh(self) -> Mesh:
        """Return the mesh of this phase; at the finish nothing is shared."""
        shared = (self._peer, self._publish, self._wait)
        is_tree = self._master.is_tree(len(self._members))
        if self._is_finishing or not is_tree:
            return PlainMesh(*shared)
        return TreeMesh(
            *shared,
            self._behind,
            self._rounds,
            phase=self._phase,
            rank=self._rank,
            members=self._members,
            fan_out=self._master.fan_out,
            hosts=self._hosts,
        )

    def _look_up(self) -> None:
        """Hear what the driver says, and pass on what waits: no message comes."""
        super()._look_up()
        self._mesh.pass_on()

    def _pass_on(self) -> None:
        with self.spans.take_in:
            self._mesh.pass_on()
            self._answer()

    def _answer(self) -> None:
        self._mesh.answer()

    def _receive(self, rank: int, data: Any) -> None:
        with self.spans.take_in:
            if isinstance(data, RoundMessage):
                self._rounds.receive(rank, data)
            elif not isinstance(data, InPhase):
                self._peer.receive(rank, SharedUpdate(**data))
            elif data.phase == self._phase:
                self._mesh.receive(rank, data.message)

    def _left(self, rank: int) -> None:
        self._peer.left(rank)
        self._rounds.left(rank)
        self._mesh.left(rank)
