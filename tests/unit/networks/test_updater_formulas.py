"""Each updater against its formula, number by number in plain Python."""

import math

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.dialects import EXACT, quirks_of
from daskdl.nn.conf.schedules import StepSchedule
from daskdl.nn.conf.updaters import (
    UPDATERS,
    AdaBelief,
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AMSGrad,
    Nadam,
    Nesterovs,
    NoOp,
    RmsProp,
    Sgd,
)
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.updaters.block import UpdaterBlock, apply_updater, initialize_state
from daskdl.nn.updaters.table import state_parts
from tests.dialects import DL4J, in_dl4j

B1, B2, EPS = 0.8, 0.95, 1e-3
MOMENTS = {"learning_rate": 0.1, "beta1": B1, "beta2": B2, "epsilon": EPS}


def sgd(g, s, t):
    return 0.1 * g


def nesterovs(g, s, t):
    before = s.get("V", 0.0)
    s["V"] = 0.7 * before - 0.1 * g
    return 0.7 * before - 1.7 * s["V"]


def means(g, s, name):
    s["M"] = B1 * s.get("M", 0.0) + (1 - B1) * g
    s[name] = B2 * s.get(name, 0.0) + (1 - B2) * g**2


def corrected(t):
    return 0.1 * math.sqrt(1 - B2**t) / (1 - B1**t)


def adam(g, s, t):
    means(g, s, "V")
    return corrected(t) * s["M"] / (math.sqrt(s["V"]) + EPS)


def amsgrad(g, s, t):
    means(g, s, "V")
    s["V_HAT"] = max(s.get("V_HAT", 0.0), s["V"])
    return corrected(t) * s["M"] / (math.sqrt(s["V_HAT"]) + EPS)


def nadam(g, s, t):
    means(g, s, "V")
    ahead = (B1 * s["M"] + (1 - B1) * g) / (1 - B1**t)
    return 0.1 * ahead / (math.sqrt(s["V"]) + EPS)


def adamax(g, s, t):
    s["M"] = B1 * s.get("M", 0.0) + (1 - B1) * g
    s["U"] = max(B2 * s.get("U", 0.0), abs(g)) + 1e-32
    return 0.1 / (1 - B1**t) * s["M"] / s["U"]


def adabelief(g, s, t):
    s["M"] = B1 * s.get("M", 0.0) + (1 - B1) * g
    s["S"] = B2 * s.get("S", 0.0) + (1 - B2) * (g - s["M"]) ** 2 + EPS
    return corrected(t) * s["M"] / (math.sqrt(s["S"]) + EPS)


def adagrad(g, s, t):
    s["GRAD"] = s.get("GRAD", 0.0) + g**2
    return 0.1 * g / (math.sqrt(s["GRAD"]) + EPS)


def adadelta(g, s, t):
    s["msg"] = 0.9 * s.get("msg", 0.0) + 0.1 * g**2
    update = g * math.sqrt(s.get("msdx", 0.0) + EPS) / math.sqrt(s["msg"] + EPS)
    s["msdx"] = 0.9 * s.get("msdx", 0.0) + 0.1 * update**2
    return update


def rmsprop(g, s, t):
    s["G"] = 0.9 * s.get("G", 0.0) + 0.1 * g**2
    return 0.1 * g / (math.sqrt(s["G"]) + EPS)


def noop(g, s, t):
    return g


FORMULAS = [
    (Sgd(learning_rate=0.1), sgd),
    (Nesterovs(learning_rate=0.1, momentum=0.7), nesterovs),
    (Adam(**MOMENTS), adam),
    (AMSGrad(**MOMENTS), amsgrad),
    (Nadam(**MOMENTS), nadam),
    (AdaMax(**MOMENTS), adamax),
    (AdaBelief(**MOMENTS), adabelief),
    (AdaGrad(learning_rate=0.1, epsilon=EPS), adagrad),
    (AdaDelta(rho=0.9, epsilon=EPS), adadelta),
    (RmsProp(learning_rate=0.1, decay=0.9, epsilon=EPS), rmsprop),
    (NoOp(), noop),
]
IDS = [updater.type for updater, _ in FORMULAS]


class Run:
    """A block of parameters that goes through some iterations."""

    def __init__(self, updater, size, dtype=np.float64):
        self.block = UpdaterBlock(updater, 0, size, 0)
        self.state = np.empty(self.block.state_stop, dtype)
        initialize_state(self.block, self.state)

    def update(self, gradient, iteration, epoch=0):
        update = np.array(gradient, self.state.dtype)
        apply_updater(
            self.block,
            update,
            self.state,
            iteration=iteration,
            epoch=epoch,
            workspace=Workspace(),
        )
        return update


def test_every_updater_has_its_formula_here():
    assert {type(updater) for updater, _ in FORMULAS} == set(UPDATERS)


@pytest.mark.parametrize(("updater", "formula"), FORMULAS, ids=IDS)
def test_updates_follow_the_formula(updater, formula, rng):
    gradients = rng.standard_normal((3, 7))
    run = Run(updater, 7)
    states = [{} for _ in range(7)]
    for iteration, gradient in enumerate(gradients):
        expected = [
            formula(float(g), state, iteration + 1)
            for g, state in zip(gradient, states, strict=True)
        ]
        np.testing.assert_allclose(
            run.update(gradient, iteration), expected, rtol=1e-13
        )


@pytest.mark.parametrize(("updater", "formula"), FORMULAS, ids=IDS)
def test_the_state_lies_part_behind_part_in_the_order_of_its_names(
    updater, formula, rng
):
    gradients = rng.standard_normal((3, 7))
    run = Run(updater, 7)
    states = [{} for _ in range(7)]
    for iteration, gradient in enumerate(gradients):
        run.update(gradient, iteration)
        for g, state in zip(gradient, states, strict=True):
            formula(float(g), state, iteration + 1)
    expected = [[state[name] for state in states] for name in state_parts(updater)]
    np.testing.assert_allclose(run.state, np.ravel(expected), rtol=1e-13)


@pytest.mark.parametrize("kind", [Adam, AMSGrad, AdaBelief, AdaMax])
def test_without_a_learning_rate_nothing_changes(kind):
    assert Run(kind(learning_rate=0.0, epsilon=0.5), 1).update([2.0], 0) == 0


@pytest.mark.parametrize("kind", [Adam, AMSGrad, AdaBelief, AdaMax])
def test_without_a_learning_rate_steps_are_of_size_epsilon_in_dl4j(kind):
    """Where the corrected rate is 0 it takes epsilon."""
    still = in_dl4j(kind(learning_rate=0.0, epsilon=0.5))
    update = Run(still, 1).update([2.0], 0)
    with_rate = Run(kind(learning_rate=1.0, epsilon=0.5), 1).update([2.0], 0)
    rate = 1.0 if kind is AdaMax else math.sqrt(1 - 0.999)
    np.testing.assert_allclose(update, with_rate * 0.5 / (rate / (1 - 0.9)))


@pytest.mark.parametrize(
    ("updater", "start"),
    [(AdaGrad(epsilon=0.5), 1e-6), (RmsProp(epsilon=0.5), 0.5), (AdaDelta(), 0.0)],
)
def test_squares_begin_at_zero_but_in_dl4j(updater, start):
    assert Run(updater, 1).state[0] == 0
    assert Run(in_dl4j(updater), 1).state[0] == start


def test_single_precision_scalars_are_computed_in_single_precision():
    """The square of the gradient gets 1 - 0.999 as float32 has it: 1e-5 off."""
    run = Run(Adam(), 1, np.float32)
    run.update([1.0], 0)
    one_minus_beta2 = np.float32(1) - np.float32(0.999)
    assert run.state[1] == one_minus_beta2
    assert abs(float(one_minus_beta2) / 0.001 - 1) > 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dialect", [EXACT, DL4J])
def test_a_beta_that_rounds_to_one_gives_numbers(dtype, dialect):
    updater = with_quirks(Adam(beta2=1 - 1e-12, beta1=0.0), quirks_of(dialect))
    update = Run(updater, 1, dtype).update([1.0], 0)
    assert np.isfinite(update).all()


def test_a_schedule_is_read_at_the_iteration():
    halved = StepSchedule(initial_value=1, decay_rate=0.5, step=2)
    run = Run(Sgd(learning_rate=halved), 1)
    assert [run.update([1.0], i)[0] for i in range(4)] == [1.0, 1.0, 0.5, 0.5]


def test_a_schedule_is_read_at_the_epoch():
    halved = StepSchedule(
        initial_value=1, decay_rate=0.5, step=2, schedule_type="epoch"
    )
    run = Run(Sgd(learning_rate=halved), 1)
    assert [run.update([1.0], 0, epoch)[0] for epoch in range(4)] == [1, 1, 0.5, 0.5]


def test_momentum_follows_its_schedule():
    growing = StepSchedule(initial_value=0.25, decay_rate=2, step=1)
    run = Run(Nesterovs(learning_rate=1, momentum=growing), 1)
    run.update([1.0], 0)
    np.testing.assert_allclose(run.update([0.0], 1), 0.5 * -1 - 1.5 * (0.5 * -1))
