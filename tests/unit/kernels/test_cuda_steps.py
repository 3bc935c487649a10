"""What a device does to whole vectors, in CUDA C run on this machine, against NumPy."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.cuda import elementwise
from daskdl.kernels.cuda.elementwise import add_bias
from daskdl.kernels.cuda.transposing import transpose
from daskdl.kernels.normalization.gpu import moved_on
from daskdl.kernels.updater import Rule, rules, update
from daskdl.kernels.updater.gpu import SOURCES
from daskdl.kernels.updater.joint import JointStep, Place
from daskdl.nn.conf.input_type import FeedForward
from tests.cuda_on_host import on_device
from tests.pretend_cupy import plain
from tests.unit.networks.small import sequence

pytestmark = pytest.mark.usefixtures("cuda_on_host")
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
ROUNDING = {np.float32: 1e-5, np.float64: 1e-12}


def rule_named(name, dtype):
    """Return a rule with numbers that are all different."""
    n = len(SOURCES[name].numbers)
    return Rule(name, tuple(dtype(0.9 / (k + 1)) for k in range(n)))


def by_numpy(rule, g, states, divisor):
    """Return the update, and bring the states forward."""
    g = g / g.dtype.type(divisor)
    getattr(rules, rule.name)(g, *states, *rule.numbers, np.empty_like(g))
    return g


@dtypes
@pytest.mark.parametrize("name", SOURCES)
def test_updates(rng, name, dtype):
    rule, n = rule_named(name, dtype), 300
    g, w = rng.standard_normal((2, n)).astype(dtype)
    states = rng.random((len(SOURCES[name].states), n)).astype(dtype)
    on = [on_device(a.copy()) for a in (g, states, w)]
    expected = by_numpy(rule, g.copy(), states, 4)
    update(rule, on[0], on[1], Workspace(), divisor=4, params=on[2])
    rtol = ROUNDING[dtype]
    np.testing.assert_allclose(plain(on[0]), expected, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(plain(on[1]), states, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(plain(on[2]), w - expected, rtol=rtol, atol=rtol)


class Vectors:
    """Weights with Adam, statistics without an updater, a gap, and weights again."""

    def __init__(self, rng, dtype):
        self.g, self.w = rng.standard_normal((2, 60)).astype(dtype)
        self.state = rng.random(2 * 40).astype(dtype)
        self.rules = [rule_named("adam", dtype), rule_named("noop", dtype)]
        self.places = [
            Place(0, 20, 0, True, 0, 40),
            Place(20, 30, 1, False, 0, 0),
            Place(40, 60, 0, True, 20, 40),
        ]

    def on_device(self):
        return [on_device(a.copy()) for a in (self.g, self.w, self.state)]


@dtypes
def test_a_joint_step_does_each_segment_as_it_is_to_be_done(rng, dtype):
    vectors = Vectors(rng, dtype)
    g, w, state = vectors.on_device()
    step = JointStep(g, vectors.places)
    step(vectors.rules, g, w, state, divisor=8)
    expected = vectors.w.copy()
    expected[20:30] -= vectors.g[20:30]
    parts = vectors.state.reshape(2, 40)
    for place in (vectors.places[0], vectors.places[2]):
        inside = slice(place.start, place.stop)
        states = parts[:, place.state : place.state + 20]
        expected[inside] -= by_numpy(vectors.rules[0], vectors.g[inside], states, 8)
    rtol = ROUNDING[dtype]
    np.testing.assert_allclose(plain(w), expected, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(plain(state), vectors.state, rtol=rtol, atol=rtol)


def test_a_step_that_is_held_changes_nothing(rng):
    vectors = Vectors(rng, np.float32)
    on = vectors.on_device()
    held = on_device(np.ones(1, np.int32))
    step = JointStep(on[0], vectors.places)
    step(vectors.rules, *on, divisor=8, held=held)
    for found, kept in zip(on, (vectors.g, vectors.w, vectors.state), strict=True):
        np.testing.assert_array_equal(plain(found), kept)


@dtypes
@pytest.mark.parametrize("rectifies", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_biases(rng, monkeypatch, dtype, rectifies, has_bias):
    monkeypatch.setattr(elementwise, "_MOST", 100)
    x = rng.standard_normal((7, 45)).astype(dtype)
    x[0, 0] = np.nan
    bias = rng.standard_normal(45).astype(dtype)
    out = on_device(x.copy())
    add_bias(out, on_device(bias) if has_bias else None, rectifies=rectifies)
    expected = x + bias if has_bias else x
    expected = np.maximum(expected, 0) if rectifies else expected
    np.testing.assert_array_equal(plain(out), expected)


@dtypes
@pytest.mark.parametrize("shape", [(1, 1), (33, 70), (64, 32), (5, 1)])
def test_matrices_are_transposed(rng, dtype, shape):
    x = rng.standard_normal(shape).astype(dtype)
    out = on_device(np.full(shape[::-1], np.nan, dtype))
    transpose(on_device(x), out=out)
    np.testing.assert_array_equal(plain(out), x.T)


@dtypes
@pytest.mark.parametrize("is_logarithm", [False, True])
def test_running_statistics(rng, dtype, is_logarithm):
    running, given = rng.random((2, 2, 300)).astype(dtype) + dtype(0.1)
    out = [on_device(np.full(300, np.nan, dtype)) for _ in range(2)]
    pairs = (tuple(map(on_device, running)), *map(on_device, given), 0.9)
    moved_on(*pairs, is_logarithm=is_logarithm, out=tuple(out))
    mean = 0.1 * (running[0] - given[0])
    spread = 0.1 * (running[1] - given[1])
    if is_logarithm:
        before = 10.0 ** (2 * running[1])
        spread = np.log10(before / (0.9 * before + 0.1 * given[1])) / 2
    rtol = 100 * ROUNDING[dtype]
    np.testing.assert_allclose(plain(out[0]), mean, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(plain(out[1]), spread, rtol=rtol, atol=rtol)


def test_a_plan_does_its_segments_in_one_launch(rng):
    network = sequence(
        FeedForward(size=5),
        dl.Dense(n_out=7),
        dl.BatchNormalization(),
        dl.Output(n_out=3),
        updater={"type": "adam", "learning_rate": 0.01},
    )
    plan = network.plan
    assert plan.can_be_held
    vectors = [rng.random(n) for n in (plan.n_params, plan.n_params, plan.state_size)]
    on = [on_device(vector.copy()) for vector in vectors]
    now = {"n_examples": 4, "iteration": 2, "workspace": Workspace()}
    for _ in range(2):
        plan.step(*vectors, **now)
        plan.step(*on, **now)
    for found, expected in zip(on, vectors, strict=True):
        np.testing.assert_allclose(plain(found), expected, rtol=1e-12, atol=1e-12)
