"""Parameter averaging on a topic."""

import time
from collections.abc import Sequence

from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.rounds import RoundsExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.delayed_mean import carried_on
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.options import ParameterAveragingTrainingMaster
from daskdl.cluster.masters.round_sizes import RoundSizes
from daskdl.nn.fitting.trained import Trained


class ParameterAveragingExchange(RoundsExchange):
    """Rounds of parameter averaging, in which every member that is alive takes part.

    With `overlap` one round may be under way while the next one is trained. Whatever
    was trained since it was started is counted in `_since_round`, so that nothing is
    carried on where a mean is waited for at once.
    """

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
        self._first_state = updater_state.copy() if master.resets_updater else None
        self._since_round = 0
        self._examples = 0
        self._phase_examples = 0
        # What we had when we started the round under way.
        self._sent = updater_state[:0]
        self._sent_iterations = 0
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

    def iteration_done(self, network: Trained, examples: int) -> None:
        """Count, go on with a round that is under way, and average if one is full."""
        self._trained += 1
        self._since_round += 1
        self._examples += examples
        self._phase_examples += examples
        with self.spans.average:
            if self._rounds.is_under_way:
                self._poll(network)
            if self._since_round >= self._sizes.own:
                self._take_part(network)

    def idle(self, network: Trained) -> None:
        """Take part in the rounds of peers, of which one may be under way."""
        with self.spans.average:
            if self._rounds.is_under_way:
                self._take_mean(network)
            else:
                super().idle(network)

    def end(self, network: Trained) -> None:
        """Take part in rounds until every member has trained all its minibatches.

        Nobody trains during the last one, which so leaves all replicas equal.
        """
        with self.spans.average:
            self._settle(network)
            while self._since_round or not self._is_over:
                self._take_part(network)
                self._settle(network)
            if self._master.overlap and self._master.save_updater:
                self._average_states(network)
            self._rounds.end()

    def _begin(self, network: Trained, peers: frozenset[int]) -> None:
        super()._begin(network, peers)
        self._phase_examples = 0
        self._began_s = time.monotonic()

    def _averaged(self, network: Trained) -> list[FloatArray]:
        """Return the vectors that are averaged in each round, the parameters first."""
        if self._master.save_updater and not self._master.overlap:
            return [network.params, network.updater_state]
        return [network.params]

    def _go_on_from(self, network: Trained, means: Sequence[FloatArray]) -> None:
        """Overwrite what was averaged; others may still be sent the means."""
        for vector, mean in zip(self._averaged(network), means, strict=True):
            if mean is not vector:
                vector[...] = to_device(mean, vector)

    def _take_part(self, network: Trained) -> None:
        """Bring what we have; with `overlap` its mean is taken later."""
        seconds = time.monotonic() - self._began_s
        self._settle(network)
        self._start(network, seconds)
        if not self._master.overlap:
            self._take_mean(network)
            self._began_s = time.monotonic()

    def _poll(self, network: Trained) -> None:
        """Go on with the round under way, without waiting."""
        self._drain()
        self._look_up()
        # When a mean arrives depends on timing: fixed are the bits of one that is late.
        if self._rounds.poll() and self._master.dealing != "fixed":
            self._take_mean(network)

    def _settle(self, network: Trained) -> None:
        """Take the mean of the round under way, if there is one."""
        if self._rounds.is_under_way:
            self._take_mean(network)

    def _start(self, network: Trained, seconds: float) -> None:
        """Start a round with what we have, trained in so many seconds."""
        own = Contribution(
            position=self._trained,
            **self._workload.left_after(self._trained),
            minibatches=self._since_round,
            seconds=seconds,
            examples=self._examples,
            iteration_count=network.iteration_count,
        )
        brought = self._averaged(network)
        if self._master.overlap:
            # Training goes on before they are sent.
            brought = [vector.copy() for vector in brought]
        self._sent, self._sent_iterations = brought[0], network.iteration_count
        self._rounds.start(
            own,
            [to_host(vector) for vector in brought],
            weighted_mean,
            overwrites=not self._master.overlap,
        )
        if self._first_state is not None:
            network.updater_state[...] = self._first_state
        self._since_round = self._examples = 0
        self._began_s = time.monotonic()

    def _take_mean(self, network: Trained) -> None:
        """Wait until the round under way is over, and go on from what it came to."""
        total = self._rounds.conclude("average")
        if total.vectors is not None:
            self._carry_on(network, total.vectors)
        told = total.contributions
        since = network.iteration_count - self._sent_iterations
        furthest = max(item.iteration_count for item in told.values())
        network.iteration_count = furthest + since
        self._note(total)
        self._sizes.take({rank: (i.minibatches, i.seconds) for rank, i in told.items()})

    def _carry_on(self, network: Trained, means: Sequence[FloatArray]) -> None:
        """Go on from means, with what we have trained since on top of them."""
        now = network.params.copy() if self._since_round else None
        self._go_on_from(network, means)
        if now is not None:
            network.params[...] = carried_on(
                network.params, now, self._sent, network.running_slots
            )
            network.hold_constraints()

    def _average_states(self, network: Trained) -> None:
        """Average the updater states of all, weighted by what each has trained."""
        state = network.updater_state
        own = Contribution(
            position=self._trained,
            examples=self._phase_examples,
            iteration_count=network.iteration_count,
        )
        total = self._rounds.take("average", own, [to_host(state)], weighted_mean)
        if total.vectors is not None:
            state[...] = to_device(total.vectors[0], state)
