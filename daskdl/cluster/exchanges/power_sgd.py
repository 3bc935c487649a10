"""Adding up gradients of low rank before each update, in two rounds an iteration."""

from collections.abc import Mapping
from typing import Any

from daskdl.arrays.namespace import to_device, to_host
from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.all_reduce import AllReduceExchange
from daskdl.cluster.exchanges.base import NO_HOSTS
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.combining import plain_sum
from daskdl.cluster.masters.low_rank import matrices
from daskdl.cluster.masters.options import PowerSGDTrainingMaster
from daskdl.cluster.masters.power_sgd import PowerSgd
from daskdl.cluster.workload import Workload
from daskdl.nn.fitting.trained import Trained


class PowerSgdExchange(AllReduceExchange):
    """Two rounds an iteration: one for the left factors, one for all the rest.

    Who dies between them counts as not having had its minibatch: it has a part in
    which directions are told, and none in what is told of them. What all that are left
    hold of the second round decides, as where gradients are added up.
    """

    def __init__(
        self,
        rank: int,
        topic: Topic,
        mailbox: Mailbox,
        master: PowerSGDTrainingMaster,
        network: Trained,
    ) -> None:
        super().__init__(rank, topic, mailbox, master, network)
        running = {slot.name for slot in network.running_slots}
        found = matrices(
            [slot for slot in network.layout if slot.name not in running],
            master.matrix_rank,
            master.min_compression_rate,
        )
        self._start = master.start_compress_iteration
        self._rule = PowerSgd(network.params.size, found, network.params.dtype)
        self._known: frozenset[int] = frozenset()  # members that hold the same Q
        self._is_restored = False

    def begin(
        self,
        network: Trained,
        members: frozenset[int],
        workload: Workload,
        hosts: Mapping[int, str] = NO_HOSTS,
    ) -> None:
        """Start a phase; where somebody is new, none goes on from the last Q."""
        if not (members <= self._known or self._is_restored):
            self._rule.restart()
        self._known, self._is_restored = members, False
        super().begin(network, members, workload, hosts)

    def state_dict(self) -> dict[str, Any]:
        """Return what was left out of gradients so far, and the last Q."""
        return dict(self._rule.state_dict()) if self._rule.approximates else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with what was left out, and with a Q.

        A member that is given none has another one for an iteration, which changes what
        the sum of left factors tells and not that all take the same of it.
        """
        self._rule.load_state_dict(state)
        self._is_restored = True

    def gradients(self, network: Trained, examples: int) -> int:
        """Replace ``network.gradients`` by what the sum of all is approximated by."""
        if self._rounds.is_alone:
            self._go_on_alone(network, examples)
            return examples
        is_early = network.iteration_count < self._start
        if is_early or not self._rule.approximates:
            return super().gradients(network, examples)
        with self.spans.average:
            return self._approximated(network, examples)

    def _approximated(self, network: Trained, examples: int) -> int:
        own = self._contribution(network, examples)
        first = self._rule.first(self._weighted(network.gradients, examples), examples)
        total = self._rounds.take("add up left factors in", own, [first], plain_sum)
        if total.vectors is None:
            return self._take_over(network, total, None)
        second = self._rule.second(total.vectors[0])
        total = self._rounds.take("add up right factors in", own, second, plain_sum)
        if total.vectors is None:
            return self._take_over(network, total, None)
        gradients = self._rule.take(total.vectors, examples)
        return self._take_over(network, total, gradients)

    def _go_on_alone(self, network: Trained, examples: int) -> None:
        """Catch up on what was left out for the sake of others."""
        if self._rule.has_error:
            whole = self._rule.whole(to_host(network.gradients), examples)
            network.gradients[...] = to_device(whole, network.gradients)
