"""Searches along lines of known functions."""

import numpy as np
import pytest

from daskdl.nn.line_search import backtrack

START = np.array([2.0, -1.0])


class Function:
    """A function of the parameters that remembers where it was asked."""

    def __init__(self, function):
        self.function = function
        self.asked = []

    def __call__(self, params):
        self.asked.append(params.copy())
        return float(self.function(params))


def search(function, gradient, direction, *, start=START, max_iterations=5):
    asked = Function(function)
    step = backtrack(
        asked,
        start,
        np.array(gradient),
        np.array(direction),
        score=float(function(start)),
        max_iterations=max_iterations,
    )
    return step, asked.asked


def square(params):
    return params @ params


def cube(params):
    return abs(params[0]) ** 3


def test_a_whole_step_that_helps_enough_is_taken():
    step, asked = search(square, 2 * START, START)
    assert step == 1.0
    assert len(asked) == 1


def test_a_step_too_far_is_shortened_to_the_minimum_of_a_parabola():
    """Of a square the second trial meets the minimum itself."""
    step, asked = search(square, 2 * START, 4 * START)
    assert step == pytest.approx(0.25)
    assert len(asked) == 2


def test_later_trials_follow_a_cubic():
    start = np.array([1.0])
    step, asked = search(cube, [3.0], [30.0], start=start)
    assert len(asked) > 2
    assert cube(start - step * np.array([30.0])) < cube(start)


def test_no_trial_is_shorter_than_a_tenth_of_the_one_before():
    _, asked = search(square, 2 * START, 1000 * START)
    steps = [float((START - params)[0] / 2000) for params in asked]
    np.testing.assert_allclose(steps[:2], [1.0, 0.1], rtol=1e-6)


def test_the_best_trial_is_taken_if_none_helps_enough():
    """The slope that is promised is a hundred thousand times too steep."""
    step, asked = search(square, 2e5 * START, 1.8 * START)
    assert 0 < step < 1
    assert len(asked) == 5


def test_uphill_there_is_no_step_and_the_network_is_put_back():
    step, asked = search(square, 2 * START, -START)
    assert step == 0
    np.testing.assert_array_equal(asked[-1], START)


def test_a_direction_of_zero_is_no_step():
    step, asked = search(square, 2 * START, 0 * START)
    assert step == 0
    np.testing.assert_array_equal(asked[-1], START)


def test_a_gradient_of_zero_is_no_step():
    step, _ = search(square, 0 * START, START)
    assert step == 0


def test_from_where_the_score_is_no_number_it_steps_back_to_a_fifth():
    def blows_up(params):
        return square(params) if abs(params[0]) < 10 else np.inf

    step, asked = search(blows_up, 2 * START, 8 * START)
    assert step == pytest.approx(0.2)
    assert len(asked) == 2


def test_the_parameters_are_left_as_they_were():
    start = START.copy()
    search(square, 2 * START, 4 * START, start=start)
    np.testing.assert_array_equal(start, START)
