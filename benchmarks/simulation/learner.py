"""A worker that learns: a small network, with the real rule of sharing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daskdl.cluster.masters.delayed_mean import carried_on
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.shared_update import SharedUpdate
from daskdl.cluster.masters.tree_messages import Marks
from daskdl.cluster.masters.tree_replica import TreeReplica, Update
from daskdl.data.dataset import DataSet
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

    def share(self, position: int) -> Update | None:
        """Take an update out of what was learned."""
        return _update(
            self._peer.share(
                self.network.gradients, iteration=self._iteration, position=position
            )
        )

    def end(self, position: int) -> Update | None:
        """Return what else is to be told at the end of a phase."""
        return _update(self._peer.end(position))

    def receive(
        self, rank: int, position: int, update: Update | None, *, ends: bool
    ) -> None:
        """Take in what a peer told."""
        [data] = update or (None,)
        self._peer.receive(
            rank,
            SharedUpdate(phase=self._phase, position=position, ends=ends, data=data),
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
        """Return the size of an update, or of a base."""
        parts = update if isinstance(update, tuple) else (update,)
        return sum(int(part.nbytes) for part in parts if part is not None)

    @property
    def positions(self) -> Mapping[int, int]:
        """Minibatches of each peer that are known here."""
        return self._peer.positions

    @property
    def replica(self) -> TreeReplica:
        """What the tree sees."""
        return TreeReplica(self._peer)

    # In parameter averaging.

    def vectors(self) -> tuple[Any, Any, int]:
        """Return copies of parameters and updater state, and the iteration counter."""
        network = self.network
        return (
            network.params.copy(),
            network.updater_state.copy(),
            network.iteration_count,
        )

    def carry_on(
        self, means: Sequence[Any] | None, sent: Sequence[Any], iteration_count: int
    ) -> None:
        """Take over the means of what was sent; None where everybody keeps its own.

        What was learned since then is on top of them.
        """
        network = self.network
        vectors = (network.params, network.updater_state)
        for vector, mean, then in zip(vectors, means or (), sent, strict=False):
            vector[...] = carried_on(mean, vector, then, ())
        network.iteration_count = iteration_count

    def average_states(self, mean: Any) -> None:
        """Take over the mean of all updater states."""
        self.network.updater_state[...] = mean

    def accuracy(self, features: Any, numbers: Any) -> float:
        """Return the share of examples that the network is right about."""
        predicted = np.argmax(self.network.output(features), axis=1)
        share = float(np.mean(predicted == numbers))
        return share if math.isfinite(share) else 0.0


def _update(message: SharedUpdate) -> Update | None:
    return None if message.data is None else (message.data,)
