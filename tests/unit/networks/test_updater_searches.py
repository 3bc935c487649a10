"""Ten minibatches with line searches, number by number against DL4J 1.0.0-M2.1."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from daskdl.nn.solvers import LineSearchLiteral
from daskdl.nn.updater_searches import UpdaterSearches
from tests.unit.networks.solver_cases import (
    RECORDINGS,
    SearchableMlp,
    check_parameters,
    check_scores,
    replay,
)
from tests.unit.networks.update_cases import rates

DATA = Path(__file__).parents[2] / "data" / "training"
RECORDED = ["line_gradient_descent", "lbfgs"]


@pytest.mark.parametrize("kind", RECORDED)
def test_parameters_after_every_minibatch(kind):
    check_parameters(kind, DATA)


@pytest.mark.parametrize("kind", RECORDED)
def test_scores_after_every_minibatch(kind):
    check_scores(kind, DATA)


def test_every_kind_has_a_recording():
    assert set(get_args(LineSearchLiteral)) == set(RECORDINGS)


def test_conjugate_gradients_restart_with_every_minibatch():
    """As in DL4J, where the last direction is overwritten before it is used."""
    golden, params, _ = replay("line_gradient_descent", DATA)
    network = SearchableMlp(rates(0.1), golden["params_init"].ravel())
    solver = UpdaterSearches("conjugate_gradient")
    for i, expected in enumerate(params):
        solver.fit(network, (golden[f"x{i}"], golden[f"y{i}"]))
        np.testing.assert_array_equal(network.dl4j_params, expected)


def test_more_trials_find_a_score_that_is_no_worse(rng):
    x, y = rng.standard_normal((5, 4)), np.eye(3)[[0, 1, 2, 0, 1]]
    params = rng.standard_normal(64)
    scores = []
    for max_iterations in (1, 8):
        network = SearchableMlp(rates(100.0), params)
        solver = UpdaterSearches("line_gradient_descent", max_iterations=max_iterations)
        scores.append(solver.fit(network, (x, y)))
    assert scores[1] <= scores[0]


def test_every_minibatch_is_one_iteration(rng):
    network = SearchableMlp(rates(0.1), rng.standard_normal(64))
    solver = UpdaterSearches("lbfgs")
    for _ in range(3):
        solver.fit(network, (rng.standard_normal((2, 4)), np.eye(3)[:2]))
    assert network.iteration == 3
