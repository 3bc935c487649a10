"""A worker that learns: a small network, with the real rule of sharing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer, SharedUpdate
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.tree_messages import Marks
from daskdl.data.dataset import DataSet
from daskdl.encoding.folding import fold
from daskdl.nn.multilayer import MultiLayerNetwork


class Learner:
    """A network and a peer of gradient sharing.

    Parameters
    ----------
    rank : int
        Of the worker.
    network : MultiLayerNetwork
        Trained.
    minibatches : sequence of DataSet
        What it trains in each phase.
    """

    def __init__(
        self, rank: int, network: MultiLayerNetwork, minibatches: Sequence[DataSet]
    ) -> None:
        self.rank = rank
        self.network = network
        self.minibatches = minibatches
        self._peer = GradientSharingPeer(SharedTrainingMaster(), network.params)
        self._phase = -1
        self._trained = 0

    def begin(self, peers: frozenset[int]) -> None:
        """Start a phase; see :class:`~benchmarks.simulation.brains.Brain`."""
        self._phase += 1
        self._trained = 0
        self._peer.begin(self._phase, peers)

    def learn(self) -> None:
        """Train the next minibatch."""
        batch = self.minibatches[self._trained]
        self._trained += 1
        self.network.fit_minibatch(batch, rng_stream=self.rank)
        # What an exchange is told in the midst of the step.
        self._peer.count_update(self._iteration)

    @property
    def _iteration(self) -> int:
        """Of the update that was just made."""
        return self.network.iteration_count - 1

    def propose(self) -> SharedUpdate | None:
        """Return what our first update asks for, if that is to be agreed on."""
        return self._peer.propose(self.network.gradients)

    @property
    def undecided(self) -> frozenset[int]:
        """Peers that may yet propose."""
        return self._peer.undecided

    def receive_proposal(self, rank: int, proposal: SharedUpdate) -> None:
        """Note what a peer's first update asks for."""
        self._peer.receive(rank, proposal)

    def agree(self, own: SharedUpdate) -> None:
        """Start from the mean of what all propose."""
        self._peer.agree(own)

    def share(self, position: int) -> Any | None:
        """Take an update out of what was learned."""
        return self._peer.share(
            self.network.gradients, iteration=self._iteration, position=position
        ).data

    def end(self, position: int) -> Any | None:
        """Return what else is to be told at the end of a phase."""
        return self._peer.end(position).data

    def receive(self, rank: int, position: int, update: Any, *, ends: bool) -> None:
        """Take in what a peer told."""
        self._peer.receive(
            rank,
            SharedUpdate(phase=self._phase, position=position, ends=ends, data=update),
        )

    def note(self, marks: Marks) -> None:
        """Note how far the peers are whose updates came over the tree."""
        for rank, mark in marks.items():
            if rank != self.rank:
                self.receive(rank, mark.position, None, ends=mark.ends)

    def is_waited_for(self, position: int) -> bool:
        """Whether a peer is a little behind."""
        return self._peer.is_waited_for(position)

    @property
    def waiting_for(self) -> frozenset[int]:
        """Peers that have not ended the phase."""
        return self._peer.waiting_for

    def left(self, rank: int) -> None:
        """Go on without a peer."""
        self._peer.left(rank)

    def conclude(self, position: int) -> None:
        """End the phase."""
        self._peer.conclude(position)

    def n_bytes(self, update: Any) -> int:
        """Return the size of an update."""
        return 0 if update is None else int(update.nbytes)

    @property
    def positions(self) -> Mapping[int, int]:
        """Minibatches of each peer that are known here."""
        return self._peer.positions

    # As a replica of the tree. The peer's base lacks its own updates already.

    def sum(self, updates: Sequence[Any]) -> Any:
        """Return one update for several."""
        return fold(updates, self.network.params.size)

    def take_in(self, update: Any, own: Sequence[Any]) -> None:
        """Subtract an update from the base, of which `own` are known parts."""
        self._subtract(self._dense([update]) - self._dense(own))

    def base(self, untold: Sequence[Any]) -> NDArray[np.float32]:
        """Return the base, which `untold` are not in."""
        return self._own_base + self._dense(untold)

    def replace_base(self, base: NDArray[np.float32], untold: Sequence[Any]) -> None:
        """Go on from another base, which `untold` are not in."""
        self._subtract(self._own_base - (base - self._dense(untold)))

    @property
    def _own_base(self) -> NDArray[np.float32]:
        return np.add(self.network.params, self._peer.residual, dtype=np.float32)

    def _dense(self, updates: Sequence[Any]) -> NDArray[np.float32]:
        total = np.zeros(self.network.params.size, np.float32)
        if updates:
            # A dense update of zeros makes the sum a dense one.
            total += fold([total, *updates], total.size)
        return total

    def _subtract(self, update: NDArray[np.float32]) -> None:
        self._peer.receive(
            -1, SharedUpdate(phase=0, position=0, ends=False, data=update)
        )

    # In parameter averaging.

    def vectors(self) -> tuple[Any, Any, int]:
        """Return copies of parameters and updater state, and the iteration counter."""
        network = self.network
        return (
            network.params.copy(),
            network.updater_state.copy(),
            network.iteration_count,
        )

    def average(self, means: Sequence[Any] | None, iteration_count: int) -> None:
        """Take over the mean of a round; None where everybody keeps its own."""
        if means is not None:
            self.network.params[...], self.network.updater_state[...] = means
        self.network.iteration_count = iteration_count

    def accuracy(self, features: Any, numbers: Any) -> float:
        """Return the share of examples that the network is right about."""
        predicted = np.argmax(self.network.output(features), axis=1)
        share = float(np.mean(predicted == numbers))
        return share if math.isfinite(share) else 0.0
