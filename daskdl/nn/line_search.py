"""Backtracking line search: shorter steps until the score has fallen enough."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace

# Rounded to single precision, and computed with in double.
_SUFFICIENT_DECREASE = float(np.float32(1e-4))
_RELATIVE_TOLERANCE = float(np.float32(1e-7))
_SHORTEST_STEP_BACK = float(np.float32(0.1))
# Parameters that differ by less are the same ones.
_SAME = 1e-12


@dataclass(frozen=True)
class _Trial:
    """A step, and the score it leads to."""

    step: float
    score: float


def backtrack(
    score_at: Callable[[FloatArray], float],
    params: FloatArray,
    gradients: FloatArray,
    direction: FloatArray,
    *,
    score: float,
    max_iterations: int,
    first_step: float = 1.0,
) -> float:
    """Return the step with which ``params - step * direction`` scores well.

    Parameters
    ----------
    score_at : callable
        Returns the score for parameters of shape (n,); called once a trial.
    params, gradients, direction : ndarray of shape (n,)
        Where the search begins, what slope it has there, and where it goes. Not
        changed, but `score_at` may overwrite `gradients`: they are read before.
    score : float
        For `params`.
    max_iterations : int
        Number of trials.
    first_step : float
        The longest step, which is tried first.

    Returns
    -------
    step : float
        `first_step` or a part of it; 0 if nothing scored better, and then `score_at`
        was last called with `params`.

    References
    ----------
    W. Press et al., "Numerical Recipes in C", section 9.7, ``lnsrch``, as in DL4J's
    ``BackTrackLineSearch``.
    """
    slope = -float(direction @ gradients)
    step_min = _shortest_step(gradients, params)
    start = best = _Trial(0.0, score)
    previous, step = start, first_step
    for _ in range(max_iterations):
        candidate = params - step * direction
        if step < step_min or _are_same(params, candidate):
            score_at(params)
            return 0.0
        trial = _Trial(step, score_at(candidate))
        if trial.score < best.score:
            best = trial
        if trial.score <= score + _SUFFICIENT_DECREASE * step * slope:
            return step
        shorter = _step_back(trial, previous, start, slope)
        previous, step = trial, max(shorter, _SHORTEST_STEP_BACK * step)
    if best is start:
        score_at(params)
    return best.step


def _shortest_step(gradients: FloatArray, params: FloatArray) -> float:
    """Return the step below which no parameter changes noticeably."""
    xp = array_namespace(params)
    largest = float((xp.abs(gradients) / xp.maximum(xp.abs(params), 1)).max())
    return _RELATIVE_TOLERANCE / largest if largest else math.inf


def _are_same(first: FloatArray, second: FloatArray) -> bool:
    return bool((array_namespace(first).abs(first - second) <= _SAME).all())


def _step_back(trial: _Trial, previous: _Trial, start: _Trial, slope: float) -> float:
    """Return where a parabola, or with two trials a cubic, has its minimum."""
    if not math.isfinite(trial.score) or not math.isfinite(previous.score):
        return 0.2 * trial.step
    if previous is start:
        bend = trial.score - start.score - slope * trial.step
        if not bend:
            return 0.5 * trial.step
        return -slope * trial.step * trial.step / (2 * bend)
    return min(_minimum_of_cubic(trial, previous, start, slope), 0.5 * trial.step)


def _minimum_of_cubic(
    trial: _Trial, previous: _Trial, start: _Trial, slope: float
) -> float:
    over = [
        (found.score - start.score - found.step * slope) / found.step**2
        for found in (trial, previous)
    ]
    width = trial.step - previous.step
    a = (over[0] - over[1]) / width
    b = (-previous.step * over[0] + trial.step * over[1]) / width
    if a == 0 and b != 0:
        return -slope / (2 * b)
    discriminant = b * b - 3 * a * slope
    if discriminant < 0 or a == 0:
        return 0.5 * trial.step
    if b <= 0:
        return (-b + math.sqrt(discriminant)) / (3 * a)
    return -slope / (b + math.sqrt(discriminant))
