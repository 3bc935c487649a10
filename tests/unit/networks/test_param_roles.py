"""What each parameter of a layer is told of its training."""

import numpy as np
import pytest

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.constraints import (
    MaxNormConstraint,
    NonNegativeConstraint,
    UnitNormConstraint,
)
from daskdl.nn.conf.parameters import TREATMENTS, Parameter
from daskdl.nn.conf.regularization import WeightDecay
from daskdl.nn.conf.updaters import Adam, NoOp, Sgd
from daskdl.nn.param_roles import plan_parameters
from daskdl.nn.regularization import Penalty
from daskdl.nn.update_plan import UpdatePlan
from tests.unit.networks.update_cases import EXACT, QUIRKS, Options

ROLES = list(TREATMENTS)


def planned(parameters, options, **more):
    """Return a layout and the plan of one layer's parameters."""
    layout = ParamLayout.of({item.name: item.shape for item in parameters})
    stretch = plan_parameters(options, list(layout), parameters, **more)
    return layout, UpdatePlan(layout, [stretch])


def roles(options):
    """Return how a parameter of each role is treated, by the role."""
    parameters = [Parameter(role, (2,), role) for role in ROLES]
    layout = ParamLayout.of({item.name: item.shape for item in parameters})
    stretch = plan_parameters(options, list(layout), parameters)
    return {role.name: role for role in stretch.roles}


def updated(plan, layout, gradient, params, **now):
    gradients, state = np.array(gradient, float), np.zeros(plan.state_size)
    plan.update(
        gradients,
        np.array(params, float),
        state,
        **{"iteration": 0, **now},
        workspace=Workspace(),
    )
    return gradients


def test_only_what_is_learned_has_an_updater():
    found = roles(Options(updater=Adam()))
    assert {name: role.updater for name, role in found.items()} == {
        "weight": Adam(),
        "gain": Adam(),
        "bias": Adam(),
        "bias of weights": Adam(),
        "visible bias": Adam(),
        "plain": Adam(),
        "direct": NoOp(),
        "moved": NoOp(),
        "threshold": Adam(),
        "running": NoOp(),
        "frozen": NoOp(),
    }


def test_the_bias_updater_is_for_biases():
    found = roles(Options(updater=Adam(), bias_updater=Sgd()))
    assert [name for name, role in found.items() if role.updater == Sgd()] == [
        "bias",
        "threshold",
    ]


def test_penalties_are_for_weights_and_those_of_biases_for_biases():
    found = roles(
        Options(l1=1.0, l2=2.0, weight_decay=3.0, l1_bias=4.0, weight_decay_bias=5.0)
    )
    penalized = {
        name: role.penalty for name, role in found.items() if role.penalty != Penalty()
    }
    assert penalized == {
        "weight": Penalty(1.0, 2.0, (WeightDecay(coefficient=3.0),)),
        "gain": Penalty(1.0, 2.0, (WeightDecay(coefficient=3.0),)),
        "bias": Penalty(4.0, 0.0, (WeightDecay(coefficient=5.0),)),
        "bias of weights": Penalty(4.0, 0.0, (WeightDecay(coefficient=5.0),)),
        "threshold": Penalty(4.0, 0.0, (WeightDecay(coefficient=5.0),)),
    }


@pytest.mark.parametrize(
    ("apply_to", "expected"),
    [
        ("weights", ["weight", "gain"]),
        ("biases", ["bias", "bias of weights", "threshold"]),
        (
            "all",
            [
                "weight",
                "gain",
                "bias",
                "bias of weights",
                "plain",
                "threshold",
                "running",
            ],
        ),
        (("plain", "elsewhere"), ["plain"]),
        # No part of the word "weights".
        (("w",), []),
    ],
)
def test_constraints_hold_whom_they_are_for(apply_to, expected):
    found = roles(Options(constraints=(NonNegativeConstraint(apply_to=apply_to),)))
    assert [name for name, role in found.items() if role.constraints] == expected


def test_a_constraint_of_axes_that_are_not_there_is_refused():
    constraint = UnitNormConstraint(dimensions=1, apply_to="biases")
    with pytest.raises(OptionError, match="bias: dimensions of UnitNormConstraint"):
        roles(Options(constraints=(constraint,)))


def test_constraints_see_dl4js_axes():
    """Kernels lie as (height, width, in, out); DL4J's norms run over all but out."""
    weight = Parameter("W", (3, 2, 4, 5), axes=(3, 2, 0, 1))
    constraint = UnitNormConstraint(dimensions=(1, 2, 3))
    _, plan = planned([weight], Options(constraints=(constraint,)))
    params = np.arange(1.0, 121.0)
    plan.constrain(params)
    kernels = params.reshape(-1, 5)
    np.testing.assert_allclose(np.linalg.norm(kernels, axis=0), 1)


def test_constraints_see_dl4js_axes_of_length_one():
    weight = Parameter("W", (3, 4, 5), axes=(2, 1, 0), file_shape=(5, 4, 3, 1))
    constraint = MaxNormConstraint(max_norm=1, dimensions=(1, 2, 3), epsilon=1e-12)
    _, plan = planned([weight], Options(constraints=(constraint,)))
    params = np.arange(1.0, 61.0)
    plan.constrain(params)
    np.testing.assert_allclose(np.linalg.norm(params.reshape(-1, 5), axis=0), 1)


def test_several_constraints_hold_one_after_the_other():
    constraints = (NonNegativeConstraint(), UnitNormConstraint(dimensions=0))
    _, plan = planned([Parameter("W", (2,))], Options(constraints=constraints))
    params = np.array([-3.0, 5.0])
    plan.constrain(params)
    np.testing.assert_allclose(params, [0.0, 1.0])


def test_frozen_parameters_never_change():
    layout, plan = planned(
        [Parameter("W", (2,), "frozen"), Parameter("b", (1,), "bias")],
        Options(updater=Sgd(learning_rate=1), l2=1.0),
    )
    assert updated(plan, layout, [3, 4, 5], [1, 1, 1]).tolist() == [0, 0, 5]


def test_direct_parameters_are_averaged_and_what_moves_is_not():
    roles = ("direct", "moved", "running")
    _, plan = planned([Parameter(role, (1,), role) for role in roles], Options())
    gradients = np.array([6.0, 6.0, 6.0])
    plan.average(gradients, 3)
    assert gradients.tolist() == [2.0, 6.0, 6.0]


@pytest.mark.parametrize(
    ("quirks", "expected"), [(EXACT, [1, 4]), (QUIRKS, [0.6, 0.8])]
)
def test_running_statistics_are_not_normalized_but_in_dl4j(quirks, expected):
    """Where they count in the norm, and lag behind the data."""
    layout, plan = planned(
        [Parameter("gamma", (1,), "plain"), Parameter("mean", (1,), "running")],
        Options(
            updater=Sgd(learning_rate=1),
            gradient_normalization="clip_l2_per_layer",
            gradient_normalization_threshold=1.0,
            quirks=quirks,
        ),
    )
    np.testing.assert_allclose(updated(plan, layout, [3, 4], [0, 0]), expected)


def test_running_statistics_between_weights_are_left_out_of_the_norm():
    names = {"gamma": "plain", "mean": "running", "beta": "plain"}
    layout, plan = planned(
        [Parameter(name, (1,), role) for name, role in names.items()],
        Options(
            updater=Sgd(learning_rate=1),
            gradient_normalization="clip_l2_per_layer",
            quirks=EXACT,
        ),
    )
    found = updated(plan, layout, [3, 7, 4], [0, 0, 0])
    np.testing.assert_allclose(found, [0.6, 7, 0.8])


def test_weight_decay_comes_after_the_updater_with_its_learning_rate():
    options = Options(updater=Sgd(learning_rate=0.5), weight_decay=0.1)
    layout, plan = planned([Parameter("W", (1,))], options)
    assert updated(plan, layout, [2.0], [4.0]) == pytest.approx(1.0 + 0.5 * 0.1 * 4)


def test_weight_decay_may_do_without_the_learning_rate():
    decay = WeightDecay(coefficient=0.1, apply_learning_rate=False)
    options = Options(updater=Sgd(learning_rate=0.5), weight_decay=decay)
    layout, plan = planned([Parameter("W", (1,))], options)
    assert updated(plan, layout, [2.0], [4.0]) == pytest.approx(1.0 + 0.1 * 4)


@pytest.mark.parametrize(("quirks", "decay"), [(EXACT, 0), (QUIRKS, 3 + 4)])
def test_weight_decay_is_not_in_the_score_but_in_dl4j(quirks, decay):
    options = Options(l1=1.0, l2=2.0, weight_decay=(3.0, 4.0), quirks=quirks)
    _, plan = planned([Parameter("W", (2,))], options)
    score = plan.regularization_score(np.array([-1.0, 3.0]))
    assert score == pytest.approx(4 + 0.5 * (2 + decay) * 10)


@pytest.mark.parametrize(("quirks", "held"), [(EXACT, -3.0), (QUIRKS, 0.0)])
def test_constraints_leave_alone_what_only_pretraining_learns_but_in_dl4j(quirks, held):
    parameters = [Parameter("W", (2,)), Parameter("d0W", (2,), is_pretraining=True)]
    constraint = NonNegativeConstraint(apply_to="weights")
    _, plan = planned(parameters, Options(constraints=(constraint,), quirks=quirks))
    params = np.array([-1.0, 2.0, -3.0, 4.0])
    plan.constrain(params)
    assert params.tolist() == [0.0, 2.0, held, 4.0]
