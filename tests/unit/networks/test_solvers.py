"""Searches along lines, against their formulas on small problems."""

from itertools import pairwise

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.solvers import LineSearchSolver
from tests.dialects import DL4J
from tests.gradients import check_gradient

KINDS = ["line_gradient_descent", "conjugate_gradient", "lbfgs"]
every_kind = pytest.mark.parametrize("kind", KINDS)


class Function:
    """A function of parameters, in place of a network's score."""

    def __init__(self, value_and_slope, params):
        self.value_and_slope = value_and_slope
        self.params = np.array(params, float)
        self.carried_states = []
        self.n_evaluations = 0

    def compute_gradients(self, batch, *, rng_stream=0):
        self.n_evaluations += 1
        value, self._slope = self.value_and_slope(self.params)
        return value

    def slope(self):
        return self._slope.copy()

    def settle(self):
        pass

    def finish_iteration(self):
        pass


def rosenbrock(p):
    a, b = 1 - p[0], p[1] - p[0] ** 2
    return a * a + 100 * b * b, np.array([-2 * a - 400 * p[0] * b, 200 * b])


def quadratic(matrix):
    return lambda p: (0.5 * p @ matrix @ p, matrix @ p)


def minimum(kind, function, params, n_iterations, **options):
    """Return the last score."""
    solver, network = LineSearchSolver(kind, **options), Function(function, params)
    scores = [solver.fit(network, None) for _ in range(n_iterations)]
    assert scores == sorted(scores, reverse=True)
    return scores[-1]


@pytest.mark.parametrize(
    ("kind", "n_iterations"), [("lbfgs", 45), ("conjugate_gradient", 80)]
)
def test_what_remembers_curvature_finds_the_end_of_a_bent_valley(kind, n_iterations):
    steepest = minimum(
        "line_gradient_descent", rosenbrock, [-1.2, 1], 200, max_iterations=20
    )
    found = minimum(kind, rosenbrock, [-1.2, 1], n_iterations, max_iterations=20)
    assert found < 1e-6 < steepest


def directions(kind, function, params, n):
    """Return what the solver saw: params, slopes, directions, of each iteration."""
    solver, network = (
        LineSearchSolver(kind, max_iterations=20),
        Function(function, params),
    )
    seen = []
    for _ in range(n):
        start = network.params.copy()
        slope = function(start)[1]
        direction = solver._memory.direction(slope).copy()
        solver.fit(network, None)
        seen.append((start, slope, direction))
    return seen


@pytest.fixture
def bowl(rng):
    root = rng.standard_normal((6, 6))
    return quadratic(root @ root.T + np.eye(6))


def test_lbfgs_is_the_inverse_of_bfgs_from_its_pairs(rng, bowl):
    """Equation (6.17) of Nocedal and Wright, from gamma times the identity (7.20)."""
    seen = directions("lbfgs", bowl, rng.standard_normal(6), 5)
    pairs = [
        (after[0] - before[0], after[1] - before[1]) for before, after in pairwise(seen)
    ]
    s, y = pairs[-1]
    inverse = np.eye(6) * (s @ y) / (y @ y)
    for s, y in pairs:
        left = np.eye(6) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    _, slope, direction = seen[-1]
    np.testing.assert_allclose(direction, inverse @ slope, rtol=1e-9)


def test_conjugate_gradients_are_those_of_polak_and_ribiere(rng, bowl):
    seen = directions("conjugate_gradient", bowl, rng.standard_normal(6), 4)
    for (_, before, last), (_, slope, direction) in pairwise(seen):
        share = max(0, slope @ (slope - before) / (before @ before))
        expected = slope + share * last
        if expected @ slope <= 0:
            expected = slope
        np.testing.assert_allclose(direction, expected, rtol=1e-9)
    assert any(np.abs(item[1] - item[2]).max() > 1e-6 for item in seen)


def test_a_failed_search_forgets_what_lbfgs_knew():
    solver = LineSearchSolver("lbfgs")
    network = Function(rosenbrock, [-1.2, 1])
    for _ in range(3):
        solver.fit(network, None)
    network.value_and_slope = lambda p: (float(np.sum(p != start)), np.ones(2))
    start = network.params.copy()
    solver.fit(network, None)
    slope = np.array([3.0, -4.0])
    np.testing.assert_array_equal(solver._memory.direction(slope), slope)


SERIES = dl.Recurrent(size=3)


def network(kind, *layers, **options):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=4),
        layers=layers or (dl.Dense(n_out=5), dl.Output(n_out=3)),
        activation="tanh",
        optimization_algo=kind,
        dtype="float64",
        **options,
    )
    return dl.MultiLayerNetwork(conf)


@pytest.fixture
def batch(rng):
    return dl.DataSet(rng.standard_normal((8, 4)), np.eye(3)[rng.integers(0, 3, 8)])


@every_kind
def test_searches_lower_the_score_of_a_network(batch, kind):
    net = network(kind, l2=0.01)
    scores = [net.fit_minibatch(batch) for _ in range(30)]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.6 * scores[0]
    assert net.iteration_count == 30


def test_lbfgs_leaves_steepest_descent_behind(batch):
    ends = {kind: network(kind, l2=0.01) for kind in KINDS}
    scores = {
        kind: [net.fit_minibatch(batch) for _ in range(40)][-1]
        for kind, net in ends.items()
    }
    assert scores["lbfgs"] < scores["line_gradient_descent"]


def test_the_slope_is_the_derivative_of_the_score(batch):
    net = network("lbfgs", l1=0.01, l2=0.1, l2_bias=0.2)

    def loss_and_grad(vector):
        net.params[...] = vector
        return net.compute_gradients(batch), net.slope()

    check_gradient(loss_and_grad, net.params + 0.01)


def test_running_statistics_go_on_behind_a_search(batch):
    layers = dl.Dense(n_out=5), dl.BatchNormalization(), dl.Output(n_out=3)
    net = network("lbfgs", *layers)
    before = net.param_table()["1_mean"].copy()
    net.fit_minibatch(batch)
    assert (net.param_table()["1_mean"] != before).any()


def test_weights_decay_behind_a_search(batch):
    nets = [network("lbfgs", weight_decay=decay) for decay in (0.0, 0.5)]
    nets[1].params[...] = nets[0].params
    for net in nets:
        net.fit_minibatch(batch)
    plain, decayed = (net.param_table()["0_W"] for net in nets)
    # The coefficient times the learning rate of the updater, 1e-3.
    np.testing.assert_allclose(decayed, plain * (1 - 0.5e-3), rtol=1e-12)


def test_trials_of_a_stretch_begin_with_the_state_that_was_carried_over(rng):
    conf = dl.MultiLayerConfiguration(
        input=SERIES,
        layers=[dl.LSTM(n_out=4), dl.RnnOutput(n_out=2)],
        optimization_algo="line_gradient_descent",
        backprop_type="truncated_bptt",
        tbptt_fwd_length=3,
        dtype="float64",
    )
    net = dl.MultiLayerNetwork(conf)
    labels = np.eye(2)[rng.integers(0, 2, (3, 6))].transpose(0, 2, 1)
    segments = net.segments(dl.DataSet(rng.standard_normal((3, 3, 6)), labels))
    net._solver.fit(net, next(segments))
    second, states = next(segments), net.carried_states
    score = net._solver.fit(net, second)
    net.carried_states = states
    assert net.compute_gradients(second) == pytest.approx(score, rel=1e-12)
    segments.close()


def test_gradients_that_are_normalized_are_refused():
    with pytest.raises(
        OptionError, match=r"gradient_normalization: must be 'none' in a network with"
    ):
        network("lbfgs", gradient_normalization="clip_l2_per_layer")


def test_in_dl4j_searches_go_along_the_update(batch):
    """A learning rate of 0 leaves nothing to go along."""
    exact, dl4j = (
        network("lbfgs", updater={"type": "sgd", "learning_rate": 0.0}, dialect=dialect)
        for dialect in ("exact", DL4J)
    )
    before = dl4j.params.copy()
    for net in (exact, dl4j):
        net.fit_minibatch(batch)
    assert (dl4j.params == before).all()
    assert (exact.params != before).any()
