"""Parameter averaging with an outer momentum, on a topic."""

from collections.abc import Mapping, Sequence
from typing import Any

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.parameter_averaging import ParameterAveragingExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.dense_sum import Total
from daskdl.cluster.masters.options import BlockMomentumTrainingMaster
from daskdl.cluster.masters.outer_momentum import OuterMomentum
from daskdl.nn.fitting.trained import Trained


class BlockMomentumExchange(ParameterAveragingExchange):
    """Rounds of averaging behind which every member takes the same outer step."""

    def __init__(
        self,
        rank: int,
        topic: Topic,
        mailbox: Mailbox,
        master: BlockMomentumTrainingMaster,
        network: Trained,
        velocity: FloatArray | None,
    ) -> None:
        super().__init__(rank, topic, mailbox, master, network.updater_state)
        self._outer = OuterMomentum(master, network.running_slots, velocity)

    @property
    def velocity(self) -> FloatArray | None:
        """Where the outer momentum leads, (n_params,), as newcomers need it."""
        return self._outer.velocity

    def state_dict(self) -> dict[str, Any]:
        """Return the velocity, which is the same on all members."""
        return {} if self.velocity is None else {"velocity": self.velocity}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with a velocity."""
        self._outer.go_on(state["velocity"])

    def _begin(self, network: Trained, peers: frozenset[int]) -> None:
        super()._begin(network, peers)
        self._outer.begin(to_host(network.params))

    def _go_on_from(self, network: Trained, means: Sequence[FloatArray]) -> None:
        params, *others = means
        super()._go_on_from(network, [self._outer.step(params), *others])
        network.hold_constraints()
        self._outer.begin(to_host(network.params))

    def _note(self, total: Total) -> None:
        super()._note(total)
        if len(total.contributions) == 1:
            self._outer.forget()
