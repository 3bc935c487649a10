"""Adding up gradients before each update: workers train as one with all minibatches."""

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.cluster.bus import Topic
from daskdl.cluster.exchanges.rounds import RoundsExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.combining import plain_sum
from daskdl.cluster.masters.dense_sum import Contribution, Total
from daskdl.cluster.masters.options import AllReduceTrainingMaster
from daskdl.nn.fitting.trained import Trained


class AllReduceExchange(RoundsExchange):
    """Rounds in which every member that is alive brings the gradients of an iteration.

    What moves running statistics is averaged in the same rounds, by examples.
    """

    adds_up_gradients = True

    def __init__(
        self,
        rank: int,
        topic: Topic,
        mailbox: Mailbox,
        master: AllReduceTrainingMaster,
        network: Trained,
    ) -> None:
        super().__init__(rank, topic, mailbox, master)
        self._running = [slice(s.offset, s.stop) for s in network.running_slots]

    def gradients(self, network: Trained, examples: int) -> int:
        """Replace ``network.gradients`` by the sum over the examples of all members."""
        if self._rounds.is_alone:
            return examples
        own = self._contribution(network, examples)
        with self.spans.average:
            brought = self._weighted(network.gradients, examples)
            total = self._rounds.take("add up gradients in", own, [brought], plain_sum)
            gradients = total.vectors[0] if total.vectors else None
            return self._take_over(network, total, gradients)

    def iteration_done(self, network: Trained, examples: int) -> None:
        """Count the minibatch."""
        self._trained += 1

    def end(self, network: Trained) -> None:
        """Follow the others until none has a minibatch left."""
        while not (self._is_over or self._rounds.is_alone):
            self._take_part(network)
        self._rounds.end()

    def _take_part(self, network: Trained) -> None:
        if total := self.gradients(network, 0):
            with self.spans.compute:
                network.learn(total)
                network.finish_iteration()

    def _contribution(self, network: Trained, examples: int) -> Contribution:
        return Contribution(
            # Of several iterations of one minibatch, which truncated backpropagation
            # through time makes, the first one counts it.
            position=self._trained + (examples > 0),
            **self._workload.left_after(self._trained),
            examples=examples,
            iteration_count=network.iteration_count,
        )

    def _take_over(
        self, network: Trained, total: Total, gradients: FloatArray | None
    ) -> int:
        """Note a round, and write what gradients came to; return all its examples."""
        self._note(total)
        if gradients is not None:
            for span in self._running:
                gradients[span] /= total.examples
            network.gradients[...] = to_device(gradients, network.gradients)
        return total.examples

    def _weighted(self, gradients: FloatArray, examples: int) -> FloatArray:
        """Return what we bring, in main memory: what moves statistics is no sum yet."""
        if not self._running or not examples:
            return to_host(gradients)
        brought = np.array(to_host(gradients))
        for span in self._running:
            brought[span] *= examples
        return brought
