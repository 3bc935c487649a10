"""Parameter averaging on a topic."""

import time
from collections.abc import Sequence
from typing import Any

from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.rounds import RoundsExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.options import ParameterAveragingTrainingMaster
from daskdl.cluster.masters.round_sizes import RoundSizes
from daskdl.nn.network import Network


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

    def _averaged(self, network: Network[Any]) -> list[FloatArray]:
        """Return the vectors that are averaged, the parameters first."""
        if self._master.save_updater:
            return [network.params, network.updater_state]
        return [network.params]

    def _go_on_from(self, network: Network[Any], means: Sequence[FloatArray]) -> None:
        """Overwrite what was averaged; others may still be sent the means."""
        for vector, mean in zip(self._averaged(network), means, strict=True):
            vector[...] = to_device(mean, vector)

    def _take_part(self, network: Network[Any]) -> None:
        own = Contribution(
            position=self._trained,
            **self._workload.left_after(self._trained),
            minibatches=self._since_round,
            seconds=time.monotonic() - self._began_s,
            examples=self._examples,
            iteration_count=network.iteration_count,
        )
        brought = [to_host(vector) for vector in self._averaged(network)]
        total = self._rounds.take("average", own, brought, weighted_mean)
        if total.vectors is not None:
            self._go_on_from(network, total.vectors)
        if self._first_state is not None:
            network.updater_state[...] = self._first_state
        told = total.contributions
        network.iteration_count = max(item.iteration_count for item in told.values())
        self._note(total)
        self._sizes.take({rank: (i.minibatches, i.seconds) for rank, i in told.items()})
        self._since_round = self._examples = 0
        self._began_s = time.monotonic()
