"""One step of training, which sequences and graphs share."""

import math
from abc import abstractmethod
from collections.abc import Generator
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.random import IterationStream, stream
from daskdl.nn.batches import Arrays, Batch, as_arrays
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.divergence import check_score, numbers_may_overflow
from daskdl.nn.fitting.exchange import Exchange
from daskdl.nn.layers.layer import OutputLayer
from daskdl.nn.search_plan import SearchPlan
from daskdl.nn.solvers import LineSearchSolver
from daskdl.nn.structure import Conf, NetworkStructure, stretches
from daskdl.nn.tbptt import carrying_anew, forget, time_segments
from daskdl.nn.updated_searches import UpdatedSearches


class StepNetwork(NetworkStructure[Conf]):
    """A network that can be trained minibatch by minibatch.

    Parameters, attributes and errors are those of
    :class:`~daskdl.nn.structure.NetworkStructure`.
    """

    @property
    def searches_lines(self) -> bool:
        """Whether it is trained by searches along lines, which make no update."""
        return self._solver is not None

    @property
    def sets_parameters(self) -> bool:
        """Whether training changes a parameter otherwise than by an update."""
        return any(layer.sets_parameters for layer in self._output_layers())

    def compute_gradients(self, batch: Batch, *, rng_stream: int = 0) -> float:
        """Run forward and backward, and leave the mean gradient in `gradients`.

        Parameters
        ----------
        batch : DataSet or MultiDataSet
            One minibatch with labels.
        rng_stream : int
            Number of the worker: each draws its own dropout.

        Returns
        -------
        score : float
            Sum of the losses divided by the number of examples, plus what
            regularization adds. Also kept in :attr:`score`.

        Raises
        ------
        ShapeError, DataError
            If the minibatch does not fit; see :meth:`check_batch`.
        """
        n_examples = self._sum_gradients(batch, rng_stream)
        self._plan.average(self._gradients, n_examples)
        return self.score

    def compute_update(self) -> FloatArray:
        """Turn `gradients`, in place, into the update to subtract.

        Returns
        -------
        update : ndarray of shape (n_params,)
            The very vector :attr:`gradients`. The updater state has moved on.
        """
        self._plan.update(
            self._gradients,
            self._params,
            self._updater_state,
            iteration=self.iteration_count,
            epoch=self.epoch_count,
            workspace=self._workspace,
        )
        return self._gradients

    def apply_update(self, update: FloatArray) -> None:
        """Subtract an update of shape (n_params,) from the parameters."""
        self._params -= update

    @property
    def carried_states(self) -> list[Any]:
        """What the recurrent layers carry over."""
        return [layer.state for layer in self._layers]

    @carried_states.setter
    def carried_states(self, states: list[Any]) -> None:
        for layer, state in zip(self._layers, states, strict=True):
            layer.state = state

    def slope(self) -> FloatArray:
        """Return the derivative of the score behind the last mean gradients.

        Returns
        -------
        slope : ndarray of shape (n_params,)
            A new array: the gradients, and what L1 and L2 add. 0 where a number is no
            weight, as a running mean.
        """
        return self._search_plan.slope(
            self._gradients,
            self._params,
            iteration=self.iteration_count,
            epoch=self.epoch_count,
            workspace=self._workspace,
        )

    def settle(self) -> None:
        """Do to the parameters what no search along a line does.

        Running statistics and class centers go on by the last mean gradients, weights
        decay.
        """
        self._search_plan.settle(
            self._gradients,
            self._params,
            iteration=self.iteration_count,
            epoch=self.epoch_count,
            workspace=self._workspace,
        )

    def finish_iteration(self) -> None:
        """Count the iteration, and hold the parameters to their constraints."""
        self.iteration_count += 1
        self._plan.constrain(self._params)

    def segments(self, batch: Batch) -> Generator[Batch, None, None]:
        """Yield what is trained of a minibatch, one iteration each.

        That is the minibatch itself, or with truncated backpropagation through time
        its stretches of time steps; recurrent layers carry their state from one to the
        next.
        """
        length = self.conf.tbptt_fwd_length
        if self.conf.backprop_type == "standard":
            yield batch
            return
        arrays = self._checked(batch)
        only_series = isinstance(self.conf, MultiLayerConfiguration)
        forgetful = [layer for layer in self._layers if layer.forgets_between_segments]
        with carrying_anew(self._layers, back_length=self.conf.back_length):
            for segment in time_segments(
                arrays, length, self.inputs, self.labels, only_series=only_series
            ):
                forget(forgetful)
                yield segment

    def fit_minibatch(
        self, batch: Batch, *, rng_stream: int = 0, exchange: Exchange | None = None
    ) -> float:
        """Train one minibatch: gradients, update, parameters, one more iteration.

        With truncated backpropagation through time each segment is an iteration.

        Parameters
        ----------
        batch : DataSet, MultiDataSet or pair of arrays
        rng_stream : int
            Number of the worker: each draws its own dropout.
        exchange : Exchange, optional
            Takes the updates into the parameters, where others train too. Of searches
            along lines, which make none, it hears when they have ended.

        Returns
        -------
        score : float
            Before the update, or after a search along a line; with truncated
            backpropagation through time that of the last segment.

        Raises
        ------
        DivergedError
            When the score is no number; the parameters stay as they were.
        DataError
            When it is none because of the minibatch.
        """
        score = float("nan")
        # Closed where an error ends the loop: layers stop carrying state over at once.
        with closing(self.segments(batch)) as segments, numbers_may_overflow():
            for segment in segments:
                if self._solver is not None:
                    score = self._solver.fit(self, segment, rng_stream=rng_stream)
                    self._check_score(score, segment)
                    continue
                n_examples = self._sum_gradients(segment, rng_stream)
                score = self.score
                self._check_score(score, segment)
                if exchange is None:
                    self._step(n_examples)
                else:
                    self._plan.average(self._gradients, n_examples)
                    exchange.apply(self, self.compute_update())
                self.finish_iteration()
            if exchange is not None:
                exchange.iteration_done(self, batch.num_examples)
        return score

    def _step(self, n_examples: int) -> None:
        """Average, update and subtract in one pass over the parameters."""
        self._plan.step(
            self._gradients,
            self._params,
            self._updater_state,
            n_examples=n_examples,
            iteration=self.iteration_count,
            epoch=self.epoch_count,
            workspace=self._workspace,
        )

    def _check_score(self, score: float, batch: Batch) -> None:
        """Refuse a score that is no number, by its cause."""
        who = type(self).__name__
        if not math.isfinite(score):
            # Only now: every number of every minibatch would be looked at.
            arrays = as_arrays(who, batch)
            self._border.admission.check_numbers(who, arrays, None)
            check_score(who, score, self.iteration_count)

    def _sum_gradients(self, batch: Batch, rng_stream: int) -> int:
        """Leave the summed gradient in `gradients` and the score in `score`.

        Returns
        -------
        n_examples : int
            By what the sums are to be divided, 1 where they stay sums.
        """
        arrays = self._checked(batch)
        rng = None
        if self._draws:
            now = (self.iteration_count, self.epoch_count)
            drawn = stream(self.conf.seed, "dropout", rng_stream, self.iteration_count)
            rng = IterationStream(drawn, *now)
        for layer in self._output_layers():
            layer.begin_iteration(self.epoch_count)
        self._forward(*self._border.features(arrays), training=True, rng=rng)
        labels, masks = self._border.labels(arrays)
        loss = self._loss(labels, masks)
        self._backward(labels, masks)
        self.score = loss + self._regularization_score()
        return arrays.num_examples if self.conf.mini_batch else 1

    @abstractmethod
    def _forward(
        self,
        features: list[FloatArray],
        masks: list[FloatArray | None],
        *,
        training: bool,
        rng: np.random.Generator | None,
    ) -> list[FloatArray]:
        """Compute the outputs from what is inside already."""

    @abstractmethod
    def _backward(
        self, labels: list[FloatArray], masks: list[FloatArray | None]
    ) -> None:
        """Write the summed gradients of the last forward pass into `gradients`."""

    @cached_property
    def _solver(self) -> LineSearchSolver | UpdatedSearches | None:
        """What searches along lines, if that is how the network is trained."""
        conf = self.conf
        if conf.optimization_algo == "stochastic_gradient_descent":
            return None
        goes_along_updates = "searches_along_updates" in conf.quirks_of_dialect
        solver = UpdatedSearches if goes_along_updates else LineSearchSolver
        return solver(
            conf.optimization_algo, max_iterations=conf.max_num_line_search_iterations
        )

    @cached_property
    def _draws(self) -> bool:
        """Whether training needs random numbers."""
        return any(node.conf.draws_random_numbers for node in self._nodes)

    @cached_property
    def _search_plan(self) -> SearchPlan:
        return SearchPlan(stretches(self.layout, self._nodes))

    def _checked(self, batch: Batch, *, numbers: bool = False) -> Arrays:
        """Return the arrays of a minibatch with labels, or refuse it."""
        arrays = self._fitting(batch, numbers=numbers)
        self._border.check_labels(arrays)
        return arrays

    def _fitting(self, batch: Batch, *, numbers: bool = False) -> Arrays:
        """Do the same without a look at what the losses say of the labels."""
        self._output_layers()  # refuses outputs that have no loss
        is_stretch = any(layer.carries_state for layer in self._layers)
        return self._border.checked(batch, any_length=is_stretch, numbers=numbers)

    def _regularization_score(self) -> float:
        return self._plan.regularization_score(
            self._params, iteration=self.iteration_count, epoch=self.epoch_count
        )

    def _loss(self, labels: list[FloatArray], masks: list[FloatArray | None]) -> float:
        """Return the mean loss of the last forward pass.

        With `mini_batch` False it is the sum of all losses. Each output has its own
        mean: a layer may make several rows of an example.
        """
        return sum(
            layer.score(target, mask)
            / (len(target) if self.conf.mini_batch or _has_mean_score(layer) else 1)
            for layer, target, mask in zip(
                self._output_layers(), labels, masks, strict=True
            )
        )


def _has_mean_score(layer: OutputLayer[Any]) -> bool:
    """Return whether a score is divided by the examples whatever `mini_batch` says."""
    return layer.has_mean_score and "mean_scores_of_sums" in layer.conf.quirks
