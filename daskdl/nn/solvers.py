"""Training that searches along a line.

Every iteration scores a minibatch for several parameters. Stochastic gradient descent
is not here: it is what a network does by itself.
"""

from collections import deque
from typing import Any, Literal, Protocol

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.line_search import backtrack

LineSearchLiteral = Literal["line_gradient_descent", "conjugate_gradient", "lbfgs"]

# How many pairs of differences LBFGS remembers.
_MEMORY = 4
# A pair whose curvature is less, for its length, is noise.
_LEAST_CURVATURE = 1e-10


class Searchable(Protocol):
    """The interface of networks that line searches train."""

    carried_states: list[Any]

    @property
    def params(self) -> FloatArray:
        """All parameters, shape (n_params,); written into."""

    def compute_gradients(self, batch: Any, *, rng_stream: int = 0) -> float:
        """Compute the gradients of a minibatch, and return the score."""

    def slope(self) -> FloatArray:
        """Return the derivative of the last score, shape (n_params,), as a copy."""

    def settle(self) -> None:
        """Update the parameters that no search changes, by the last gradients."""

    def finish_iteration(self) -> None:
        """Count the iteration, and hold the parameters to their constraints."""


class LineSearchSolver:
    """Minimises the score of each minibatch along a direction.

    Parameters
    ----------
    kind : {"line_gradient_descent", "conjugate_gradient", "lbfgs"}
        Which direction: that of steepest descent, one that is conjugate to the last
        one, or steepest descent times an estimate of the inverse second derivative.
    max_iterations : int
        Number of steps that a search tries.

    Notes
    -----
    Not to be shared between networks: it remembers earlier iterations. What it learns
    of curvature are differences of gradients of one and the same minibatch, in front of
    a step and behind it; between different minibatches most of a difference would be
    noise.

    The step is the first one that falls enough, from 1 downwards; without an estimate
    of curvature from twice the last step downwards.

    References
    ----------
    J. Nocedal, S. Wright, "Numerical Optimization", second edition: algorithm 3.1,
    the step; (5.44) and (5.45), conjugate gradients of Polak and Ribière that restart;
    algorithms 7.4 and 7.5, LBFGS.
    """

    def __init__(self, kind: LineSearchLiteral, *, max_iterations: int = 5) -> None:
        self.kind = kind
        self.max_iterations = max_iterations
        self._memory = _MEMORIES[kind]()
        self._first_step = 1.0

    def fit(self, network: Searchable, batch: Any, *, rng_stream: int = 0) -> float:
        """Train one minibatch, as one iteration.

        Parameters
        ----------
        network : Searchable
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
        states = network.carried_states
        start = network.params.copy()

        def score_at(params: FloatArray) -> float:
            # Each trial begins where the first one began, in time too.
            network.carried_states = states
            network.params[...] = params
            return network.compute_gradients(batch, rng_stream=rng_stream)

        score = score_at(start)
        slope = network.slope()
        direction = self._memory.direction(slope)
        step = backtrack(
            score_at,
            start,
            slope,
            direction,
            score=score,
            max_iterations=self.max_iterations,
            first_step=self._first_step,
        )
        score = score_at(start - step * direction)
        self._memory.learn(network.params - start, slope, network.slope(), direction)
        if self._memory.is_scaled:
            self._first_step = 2 * step or 1.0
        network.settle()
        network.finish_iteration()
        return score


class _SteepestDescent:
    """The direction of steepest descent, which needs no memory.

    Directions point uphill, as they are subtracted.
    """

    # Whether the length of a direction says nothing of that of the step.
    is_scaled = True

    def direction(self, slope: FloatArray) -> FloatArray:
        """Return the direction of a search, shape (n_params,).

        Parameters
        ----------
        slope : ndarray of shape (n_params,)
            The derivative of the score where the search begins.
        """
        return slope

    def learn(
        self,
        moved: FloatArray,
        slope: FloatArray,
        slope_behind: FloatArray,
        direction: FloatArray,
    ) -> None:
        """Take notice of a step.

        Parameters
        ----------
        moved : ndarray of shape (n_params,)
            By how much it changed the parameters; 0 if the search failed.
        slope, slope_behind : ndarray of shape (n_params,)
            The derivative in front of the step and behind it.
        direction : ndarray of shape (n_params,)
            Where it went.
        """


class _Conjugate(_SteepestDescent):
    """The last direction, by its share in the next one."""

    def __init__(self) -> None:
        self._last: FloatArray | None = None

    def direction(self, slope: FloatArray) -> FloatArray:
        """Return steepest descent, and a share of the last direction."""
        if self._last is None:
            return slope
        direction: FloatArray = slope + self._last
        return direction if float(direction @ slope) > 0 else slope

    def learn(
        self,
        moved: FloatArray,
        slope: FloatArray,
        slope_behind: FloatArray,
        direction: FloatArray,
    ) -> None:
        """Compute the share: 0, a restart, where it would be negative."""
        square = float(slope @ slope)
        share = float(slope_behind @ (slope_behind - slope)) / square if square else 0.0
        restarts = share <= 0 or not moved.any()
        self._last = None if restarts else share * direction


class _Curvature(_SteepestDescent):
    """LBFGS's memory of the second derivative: differences, most recent first.

    Variables as in algorithm 7.4 of Nocedal and Wright.
    """

    is_scaled = False

    def __init__(self) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=_MEMORY)
        self._gamma = 1.0

    def direction(self, slope: FloatArray) -> FloatArray:
        """Return the slope times the estimate of the inverse second derivative."""
        r: FloatArray = slope.copy()
        alphas = []
        for s, y, rho in self._pairs:
            alphas.append(rho * float(s @ r))
            r -= alphas[-1] * y
        r *= self._gamma
        pairs = zip(reversed(self._pairs), reversed(alphas), strict=True)
        for (s, y, rho), alpha in pairs:
            r += (alpha - rho * float(y @ r)) * s
        return r

    def learn(
        self,
        moved: FloatArray,
        slope: FloatArray,
        slope_behind: FloatArray,
        direction: FloatArray,
    ) -> None:
        """Remember the differences, unless the score bends downwards between them."""
        s, y = moved, slope_behind - slope
        if not s.any():
            self._pairs.clear()
            self._gamma = 1.0
            return
        sy, yy = float(s @ y), float(y @ y)
        if sy > _LEAST_CURVATURE * (float(s @ s) * yy) ** 0.5:
            self._pairs.appendleft((s, y, 1 / sy))
            self._gamma = sy / yy


_MEMORIES: dict[LineSearchLiteral, type[_SteepestDescent]] = {
    "line_gradient_descent": _SteepestDescent,
    "conjugate_gradient": _Conjugate,
    "lbfgs": _Curvature,
}
