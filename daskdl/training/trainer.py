"""The training step of one process, and the door through which a cluster enters it.

A :class:`Trainer` runs forward, backward and updater. What then happens to the update
is the business of its :class:`Exchange`: alone it is subtracted from the parameters;
on a cluster it also goes to the peers. There is no second trainer.
"""

import math
from collections.abc import Iterable
from contextlib import closing
from typing import Any, Protocol

from daskdl.arrays.namespace import FloatArray
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.nn.divergence import numbers_may_overflow
from daskdl.nn.network import Network

Minibatch = DataSet | MultiDataSet


class Exchange(Protocol):
    """What happens to an update, and between two iterations."""

    def apply(self, network: Network[Any], update: FloatArray) -> None:
        """Take `update` into the parameters of `network`, and share it."""

    def iteration_done(self, network: Network[Any], examples: int) -> None:
        """Do what belongs between two iterations, such as averaging."""


class LocalExchange:
    """Nobody to exchange with: the whole update is subtracted."""

    def apply(self, network: Network[Any], update: FloatArray) -> None:
        """Subtract `update` from the parameters."""
        network.apply_update(update)

    def iteration_done(self, network: Network[Any], examples: int) -> None:
        """Do nothing."""


class Trainer:
    """Train a network minibatch by minibatch.

    Parameters
    ----------
    network : Network
        Trained in place.
    exchange : Exchange
        What happens to each update.
    rng_stream : int
        Which stream of random numbers dropout draws from; a worker's rank, so that two
        workers drop different units. Stream 0 is that of a single process.
    """

    def __init__(
        self,
        network: Network[Any],
        exchange: Exchange | None = None,
        *,
        rng_stream: int = 0,
    ) -> None:
        self.network = network
        self.exchange = exchange if exchange is not None else LocalExchange()
        self.rng_stream = rng_stream

    def fit_minibatch(self, batch: Minibatch) -> float:
        """Train one minibatch and return its score (before the update).

        That is one iteration; with truncated backpropagation through time one for each
        segment, and the score of the last one.

        Raises
        ------
        DivergedError
            When the score is no number; the parameters would be none either.
        DataError
            When it is none because of the minibatch.
        """
        with numbers_may_overflow():
            return self._fit_minibatch(batch)

    def _fit_minibatch(self, batch: Minibatch) -> float:
        network = self.network
        if network.searches_lines:
            # What it did is no update that could be shared: only its result is.
            score = network.fit_minibatch(batch, rng_stream=self.rng_stream)
            self.exchange.iteration_done(network, batch.num_examples)
            return score
        score = float("nan")
        # Closed where an error ends the loop: layers stop carrying state over at once.
        with closing(network.segments(batch)) as segments:
            for segment in segments:
                score = network.compute_gradients(segment, rng_stream=self.rng_stream)
                if not math.isfinite(score):
                    network.check_score(score, segment, "Trainer")
                self.exchange.apply(network, network.compute_update())
                network.finish_iteration()
        self.exchange.iteration_done(network, batch.num_examples)
        return score

    def fit_epoch(self, batches: Iterable[Minibatch]) -> float:
        """Train on every minibatch once; return the mean score by examples."""
        total, examples = 0.0, 0
        for batch in batches:
            total += self.fit_minibatch(batch) * batch.num_examples
            examples += batch.num_examples
        self.network.epoch_count += 1
        return total / examples if examples else float("nan")
