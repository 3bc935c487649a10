"""Updaters, weight decay, constraints and initial weights as values of a layer."""

from typing import Any

import pytest

from daskdl.errors import OptionError
from daskdl.nn.conf.constraints import (
    Constraints,
    MaxNormConstraint,
    NonNegativeConstraint,
)
from daskdl.nn.conf.distributions import (
    AnyDistribution,
    BinomialDistribution,
    NormalDistribution,
    UniformDistribution,
)
from daskdl.nn.conf.regularization import (
    AnyCoefficient,
    AnyWeightDecay,
    WeightDecay,
    weight_decays,
)
from daskdl.nn.conf.schedules import FixedSchedule
from daskdl.nn.conf.updaters import UPDATERS, AnyUpdater, Sgd
from daskdl.nn.conf.values import Conf
from daskdl.nn.conf.weight_inits import (
    AnyWeightInit,
    ConstantInit,
    DistributionInit,
    IdentityInit,
    VarScalingNormalFanIn,
)


class Layer(Conf):
    updater: AnyUpdater = Sgd()
    l2: AnyCoefficient = 0.0
    weight_decay: AnyWeightDecay = 0.0
    constraints: Constraints = ()
    weight_init: AnyWeightInit = "xavier"
    distribution: AnyDistribution = NormalDistribution()


FIXED = {"type": "fixed", "value": 0.1}
GOOD: list[dict[str, Any]] = [
    *({"updater": kind()} for kind in UPDATERS),
    {"updater": {"type": "nesterovs", "momentum": FIXED, "learning_rate": FIXED}},
    {"l2": FIXED},
    {"weight_decay": 0.5},
    {"weight_decay": FIXED},
    {"weight_decay": {"coefficient": FIXED, "apply_learning_rate": False}},
    {"weight_decay": [0.5, {"coefficient": 0.5}]},
    {"constraints": [{"type": "max_norm", "max_norm": 2, "dimensions": 1}]},
    {"constraints": [{"type": "min_max_norm", "dimensions": [1, 2], "rate": 0.5}]},
    {"constraints": {"type": "unit_norm", "dimensions": 0, "apply_to": "all"}},
    {"constraints": "non_negative"},
    {"weight_init": "VAR_SCALING_UNIFORM_FAN_AVG"},
    {"weight_init": {"type": "constant", "value": 0.3}},
    {"weight_init": {"type": "identity", "scale": 2}},
    {"weight_init": {"type": "var_scaling_normal_fan_in", "scale": 2}},
    {
        "weight_init": {
            "type": "distribution",
            "distribution": {"type": "uniform", "lower": -1, "upper": 1},
        }
    },
    {
        "distribution": {
            "type": "BinomialDistribution",
            "number_of_trials": 3,
            "probability_of_success": 0.5,
        }
    },
]


@pytest.mark.parametrize("options", GOOD, ids=repr)
def test_what_is_dumped_makes_the_same_layer(options):
    layer = Layer(**options)
    assert Layer(**layer.model_dump(mode="json")) == layer


@pytest.mark.parametrize("name", ["adamax", "AdaMax", "ada_max", "ADAMAX"])
def test_updaters_are_found_however_they_are_written(name):
    assert Layer(updater=name).updater.type == "adamax"


@pytest.mark.parametrize("kind", UPDATERS)
def test_learning_rates_are_those_of_dl4j(kind):
    expected = {
        "nesterovs": 0.1,
        "adagrad": 0.1,
        "rmsprop": 0.1,
        "adadelta": None,
        "noop": None,
    }
    updater = kind()
    rate = getattr(updater, "learning_rate", None)
    assert rate == expected.get(updater.type, 1e-3)


def test_a_plain_weight_decay_applies_the_learning_rate():
    assert weight_decays(Layer(weight_decay=0.5).weight_decay) == (
        WeightDecay(coefficient=0.5, apply_learning_rate=True),
    )


def test_a_schedule_is_a_plain_weight_decay_too():
    assert weight_decays(Layer(weight_decay=FIXED).weight_decay) == (
        WeightDecay(coefficient=FixedSchedule(value=0.1)),
    )


@pytest.mark.parametrize("nothing", [None, 0.0, (0.0, WeightDecay(coefficient=0))])
def test_a_weight_decay_of_zero_is_none(nothing):
    assert weight_decays(nothing) == ()


def test_each_weight_decay_of_a_list_counts():
    assert len(weight_decays(Layer(weight_decay=[0.1, 0.1]).weight_decay)) == 2


def test_one_constraint_is_a_list_of_one():
    constraint = NonNegativeConstraint(apply_to="biases")
    assert Layer(constraints=constraint).constraints == (constraint,)


def test_one_axis_is_a_list_of_one():
    assert MaxNormConstraint(max_norm=1, dimensions=1).dimensions == (1,)


def test_the_name_of_a_parameter_is_a_list_of_one():
    assert NonNegativeConstraint(apply_to="RW").apply_to == ("RW",)


@pytest.mark.parametrize("name", ["xavier_fan_in", "XAVIER_FAN_IN", "XavierFanIn"])
def test_names_of_initial_weights_are_found_however_they_are_written(name):
    assert Layer(weight_init=name).weight_init == "xavier_fan_in"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "DISTRIBUTION", "distribution": "normal"}, DistributionInit),
        ({"type": "constant", "value": 1}, ConstantInit),
        ({"type": "identity"}, IdentityInit),
        ({"type": "var_scaling_normal_fan_in"}, VarScalingNormalFanIn),
    ],
)
def test_a_mapping_of_initial_weights_becomes_a_value(given, expected):
    assert isinstance(Layer(weight_init=given).weight_init, expected)


NORM = {"type": "max_norm", "max_norm": 1, "dimensions": 0}
BAD = [
    (
        {"updater": {"type": "adam", "beta1": 1}},
        r"Layer\.updater\.beta1: must be less than 1, got 1\.",
    ),
    (
        {"updater": {"type": "sgd", "learning_rate": {**FIXED, "valu": 1}}},
        r"Layer\.updater\.learning_rate\.valu: is not a known key\.",
    ),
    ({"l2": -0.1}, r"Layer\.l2: must be greater than or equal to 0, got -0\.1\."),
    (
        {"weight_decay": [0.1, -1]},
        r"Layer\.weight_decay\[1\]: must be greater than or equal to 0, got -1\.",
    ),
    (
        {"weight_decay": {"coefficient": -1}},
        r"Layer\.weight_decay\.coefficient: must be greater than or equal to 0, got",
    ),
    (
        {"constraints": [{**NORM, "apply_to": 3}]},
        r"constraints\[0\]\.apply_to: must be 'weights', .* names of param.*got 3",
    ),
    (
        {"constraints": [{**NORM, "dimensions": 1.5}]},
        r"Layer\.constraints\[0\]\.dimensions: must be a list, got 1\.5\.",
    ),
    (
        {"constraints": [{"type": "max_norm", "max_norm": 1}]},
        r"Layer\.constraints\[0\]\.dimensions: must be given\.",
    ),
    (
        {"constraints": [{"type": "min_max_norm", "dimensions": 0, "min": 2}]},
        r"Layer\.constraints\[0\]\.max: must not be below min \(2\), got 1\.",
    ),
    (
        {"constraints": [{"type": "maxnorm2"}]},
        r"Layer\.constraints\[0\]\.type: must be one of 'max_norm', 'min_max_norm', ",
    ),
    (
        {"weight_init": "xavir"},
        r"Layer\.weight_init: must be a known name, got 'xavir'\. Did you mean 'xavier",
    ),
    (
        {"weight_init": "distribution"},
        r"Layer\.weight_init\.distribution: must be given\.",
    ),
    (
        {"weight_init": {"type": "var_scaling_normal_fan_in", "scale": 0}},
        r"Layer\.weight_init\.scale: must be greater than 0, got 0\.",
    ),
    (
        {"distribution": {"type": "uniform", "lower": 1, "upper": 1}},
        r"Layer\.distribution\.upper: must be greater than lower \(1\), got 1\.",
    ),
    (
        {"distribution": {"type": "normal", "std": -1}},
        r"Layer\.distribution\.std: must be greater than or equal to 0, got -1\.",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_what_is_wrong_is_refused_with_its_path(options, message):
    with pytest.raises(OptionError, match=message):
        Layer(**options)


def test_a_chance_is_a_number_up_to_one():
    with pytest.raises(
        OptionError, match=r"probability_of_success: must be less than or equal to 1"
    ):
        BinomialDistribution(number_of_trials=1, probability_of_success=1.5)


def test_an_empty_interval_is_refused():
    with pytest.raises(OptionError, match=r"UniformDistribution\.upper: must be gr"):
        UniformDistribution(lower=2, upper=1)
