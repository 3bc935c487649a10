"""Searches along the updates that an updater makes, as some dialects have them.

What searches are like by their formulas is in :mod:`daskdl.nn.solvers`.
"""

from collections import deque
from typing import Any, Protocol

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.line_search import backtrack
from daskdl.nn.solvers import LineSearchLiteral

# How many differences LBFGS remembers, and what is added to what it divides by.
_MEMORY = 4
_EPSILON = 1e-5


class Updatable(Protocol):
    """The interface of networks that these searches train."""

    score: float

    @property
    def params(self) -> FloatArray:
        """All parameters, shape (n_params,); written into."""

    @property
    def gradients(self) -> FloatArray:
        """The last gradients, or the last update; shape (n_params,)."""

    def compute_gradients(self, batch: Any, *, rng_stream: int = 0) -> float:
        """Leave the mean gradient in `gradients`, and return the score."""

    def compute_update(self) -> FloatArray:
        """Turn `gradients`, (n_params,), in place into the update, and return it."""

    def finish_iteration(self) -> None:
        """Count the iteration, and hold the parameters to their constraints."""


class UpdaterSearches:
    """Minimises the score of each minibatch along a direction.

    Parameters
    ----------
    kind : {"line_gradient_descent", "conjugate_gradient", "lbfgs"}
        What the direction is: the update that the updater makes of the gradient, or
        with ``lbfgs`` that of the minibatch before with an estimate of the curvature.
    max_iterations : int
        Number of steps that a search tries.

    Notes
    -----
    Not to be shared between networks: it remembers where the last search ended. The
    updater sees two gradients an iteration, before and after the search, under one
    iteration number.

    It works on arrays that change under it. Conjugate gradients restart with every
    minibatch and so are line gradient descent; LBFGS learns a difference of gradients
    in its first iteration only; and constraints hold the network but not the parameters
    that the next search begins with.

    References
    ----------
    DL4J, ``org.deeplearning4j.optimize.solvers.BaseOptimizer`` and ``LBFGS``.
    """

    def __init__(self, kind: LineSearchLiteral, *, max_iterations: int = 5) -> None:
        self.kind = kind
        self.max_iterations = max_iterations
        self._params: FloatArray | None = None
        self._curvature: _Curvature | None = None

    def fit(self, network: Updatable, batch: Any, *, rng_stream: int = 0) -> float:
        """Train one minibatch, as one iteration.

        Parameters
        ----------
        network : Updatable
            Always the same one.
        batch : DataSet or MultiDataSet
            With labels.
        rng_stream : int
            Number of the worker.

        Returns
        -------
        score : float
            After the step.
        """

        def score_at(params: FloatArray) -> float:
            network.params[...] = params
            return network.compute_gradients(batch, rng_stream=rng_stream)

        score = network.compute_gradients(batch, rng_stream=rng_stream)
        update = network.compute_update()
        if self._params is None:
            self._params = network.params.copy()
            if self.kind == "lbfgs":
                self._curvature = _Curvature(self._params, update)
        params = self._params
        direction = self._curvature.direction if self._curvature else update.copy()
        step = backtrack(
            score_at,
            params,
            update,
            direction,
            score=score,
            max_iterations=self.max_iterations,
        )
        if step != 0:
            params -= step * direction
            network.params[...] = params
        score = network.compute_gradients(batch, rng_stream=rng_stream)
        network.compute_update()
        if self._curvature is not None:
            self._curvature.learn(network.params, network.gradients)
        network.finish_iteration()
        return score


class _Curvature:
    """LBFGS's memory of the second derivative, and the direction by it.

    Variables as in J. Nocedal, S. Wright, "Numerical Optimization", algorithm 7.4,
    most recent first. Here rho and the first estimate are made of parameters and
    gradients where the algorithm has differences of them, and the second loop pairs the
    oldest differences with the newest alpha.
    """

    def __init__(self, params: FloatArray, gradients: FloatArray) -> None:
        self.direction = gradients.copy()
        self._last_params = params.copy()
        self._first_gradients: FloatArray | None = gradients.copy()
        self._s: deque[FloatArray] = deque(maxlen=_MEMORY)
        self._y: deque[FloatArray] = deque(maxlen=_MEMORY)
        self._rho: deque[float] = deque(maxlen=_MEMORY)

    def learn(self, params: FloatArray, gradients: FloatArray) -> None:
        """Turn to the direction of the next search, after a step."""
        # After the first iteration the gradients are taken for those before the step:
        # they lie in one array.
        before = gradients
        if self._first_gradients is not None:
            before, self._first_gradients = self._first_gradients, None
        sy = float(self._last_params @ before) + _EPSILON
        yy = float(before @ before) + _EPSILON
        self._rho.appendleft(1 / sy)
        self._s.appendleft(params - self._last_params)
        self._y.appendleft(gradients - before)
        self._turn(gradients, sy / yy)
        self._last_params[...] = params

    def _turn(self, gradients: FloatArray, gamma: float) -> None:
        direction = self.direction
        direction[...] = gradients
        known = list(zip(self._s, self._y, self._rho, strict=True))
        alphas = []
        for s, y, rho in known:
            alphas.append(rho * float(s @ direction))
            direction -= alphas[-1] * y
        direction *= gamma
        for (s, y, rho), alpha in zip(reversed(known), alphas, strict=True):
            direction += (alpha - rho * float(y @ direction)) * s
