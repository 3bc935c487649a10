"""Recorded trainings of one small network, as DL4J 1.0.0-M2.1 was told to train it.

What is written here is what was asked of DL4J's builder, except where it forgets
something or counts it twice.
"""

from dataclasses import dataclass, field, fields
from typing import Any

from daskdl.dialects import Quirks, quirks_of
from daskdl.nn.conf.constraints import (
    MaxNormConstraint,
    MinMaxNormConstraint,
    NonNegativeConstraint,
    UnitNormConstraint,
)
from daskdl.nn.conf.regularization import WeightDecay
from daskdl.nn.conf.schedules import (
    CycleSchedule,
    ExponentialSchedule,
    FixedSchedule,
    InverseSchedule,
    MapSchedule,
    PolySchedule,
    RampSchedule,
    SigmoidSchedule,
    StepSchedule,
)
from daskdl.nn.conf.updaters import (
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
from tests.dialects import DL4J

QUIRKS = quirks_of(DL4J)
EXACT: Quirks = frozenset()


@dataclass(frozen=True)
class Options:
    """What a layer is told of its training; computed as DL4J does, unless said."""

    updater: Any = field(default_factory=Sgd)
    bias_updater: Any = None
    l1: Any = 0.0
    l2: Any = 0.0
    l1_bias: Any = 0.0
    l2_bias: Any = 0.0
    weight_decay: Any = 0.0
    weight_decay_bias: Any = 0.0
    constraints: tuple[Any, ...] = ()
    gradient_normalization: str = "none"
    gradient_normalization_threshold: float = 1.0
    quirks: Quirks = QUIRKS

    def __post_init__(self):
        for option in fields(self):
            value = with_quirks(getattr(self, option.name), self.quirks)
            object.__setattr__(self, option.name, value)


@dataclass(frozen=True)
class Case:
    """One recording: what each of the three layers, and what the network was told."""

    layers: tuple[Options, Options, Options]
    mini_batch: bool = True
    activations: tuple[str, str] = ("tanh", "sigmoid")


def case(*, mini_batch=True, **options):
    return Case((Options(**options),) * 3, mini_batch)


def rates(learning_rate, **options):
    return case(updater=Sgd(learning_rate=learning_rate), **options)


def twice(coefficient, *, apply_learning_rate=True):
    """DL4J's builder for whole networks enters a weight decay twice."""
    decay = WeightDecay(
        coefficient=coefficient, apply_learning_rate=apply_learning_rate
    )
    return (decay, decay)


def steps(initial_value, **options):
    return StepSchedule(
        **{"initial_value": initial_value, "decay_rate": 0.5, "step": 3, **options}
    )


def normalized(kind, threshold=0.05, learning_rate=0.1, **options):
    return rates(
        learning_rate,
        gradient_normalization=kind,
        gradient_normalization_threshold=threshold,
        **options,
    )


def constrained(constraint, **options):
    return rates(0.3, constraints=(constraint,), **options)


ADAM = Adam(learning_rate=0.02)
ADADELTA = AdaDelta(rho=0.9, epsilon=1e-5)
FROM = {"initial_value": 0.2}
BY_EPOCH = {"initial_value": 0.2, "schedule_type": "epoch"}

UPDATERS = {
    "sgd": rates(0.1),
    "nesterovs": case(updater=Nesterovs(learning_rate=0.05, momentum=0.85)),
    "adam": case(
        updater=Adam(learning_rate=0.02, beta1=0.85, beta2=0.99, epsilon=1e-7)
    ),
    "adamax": case(updater=AdaMax(learning_rate=0.02)),
    "nadam": case(updater=Nadam(learning_rate=0.02)),
    "amsgrad": case(updater=AMSGrad(learning_rate=0.02, beta2=0.95)),
    "adagrad": case(updater=AdaGrad(learning_rate=0.05)),
    "adagrad_eps": case(updater=AdaGrad(learning_rate=0.05, epsilon=1e-3)),
    "adadelta": case(updater=ADADELTA),
    "rmsprop": case(updater=RmsProp(learning_rate=0.01, decay=0.9, epsilon=1e-6)),
    "noop": case(updater=NoOp()),
    "default_updater": case(),
    "adam_epochs": case(updater=ADAM),
    "bias_updater": case(updater=ADAM, bias_updater=Sgd(learning_rate=0.2)),
    "two_updaters": Case(
        (
            Options(updater=Nesterovs(learning_rate=0.05, momentum=0.8)),
            Options(
                updater=RmsProp(learning_rate=0.01),
                bias_updater=AdaGrad(learning_rate=0.1),
            ),
            Options(updater=ADAM),
        ),
        activations=("tanh", "tanh"),
    ),
    "minibatch_false": rates(0.02, mini_batch=False),
    # DL4J has the option and subtracts all the same.
    "minimize_false": rates(0.01),
    "float_adam": case(updater=ADAM),
    # With one number DL4J's constructor of Nesterovs takes it for the momentum.
    "float_nesterovs_l2": case(
        updater=Nesterovs(learning_rate=0.1, momentum=0.05), l2=0.01
    ),
}

SCHEDULES = {
    "sched_fixed": rates(FixedSchedule(value=0.1)),
    "sched_exponential": rates(ExponentialSchedule(**FROM, gamma=0.8)),
    "sched_inverse": rates(InverseSchedule(**FROM, gamma=0.3, power=1.5)),
    "sched_poly": rates(PolySchedule(**FROM, power=1.5, max_iter=8)),
    "sched_sigmoid": rates(SigmoidSchedule(**FROM, gamma=0.6, step_size=4)),
    "sched_step": rates(steps(0.2)),
    "sched_map": rates(MapSchedule(values={0: 0.2, 3: 0.1, 7: 0.02})),
    "sched_cycle": rates(
        CycleSchedule(
            initial_learning_rate=0.05,
            max_learning_rate=0.3,
            cycle_length=8,
            annealing_length=2,
            annealing_decay=0.5,
        )
    ),
    "sched_ramp": rates(RampSchedule(base=FixedSchedule(value=0.2), num_iter=4)),
    "sched_epoch_exponential": rates(ExponentialSchedule(**BY_EPOCH, gamma=0.5)),
    "sched_epoch_step": rates(steps(0.2, step=2, schedule_type="epoch")),
    "sched_epoch_map": rates(
        MapSchedule(values={0: 0.2, 2: 0.1}, schedule_type="epoch")
    ),
    "sched_epoch_poly": rates(PolySchedule(**BY_EPOCH, power=1.5, max_iter=4)),
    "sched_adam_step": case(updater=Adam(learning_rate=steps(0.05))),
    "sched_nesterovs_both": case(
        updater=Nesterovs(
            learning_rate=steps(0.05), momentum=MapSchedule(values={0: 0.5, 4: 0.9})
        )
    ),
    "sched_rmsprop_exp": case(
        updater=RmsProp(
            learning_rate=ExponentialSchedule(initial_value=0.01, gamma=0.9)
        )
    ),
}

REGULARIZATIONS = {
    "l2_sgd": rates(0.1, l2=0.05),
    "l1_sgd": rates(0.1, l1=0.03),
    "l1_l2_adam": case(updater=ADAM, l1=0.02, l2=0.03),
    "l1l2_bias_adam": case(updater=ADAM, l1=0.02, l2=0.03, l1_bias=0.01, l2_bias=0.04),
    "weightdecay_sgd": rates(0.1, weight_decay=twice(0.05)),
    "weightdecay_nolr_adam": case(
        updater=ADAM, weight_decay=twice(0.01, apply_learning_rate=False)
    ),
    "weightdecay_bias_adam": case(
        updater=ADAM, weight_decay=twice(0.05), weight_decay_bias=twice(0.03)
    ),
    "weightdecay_adadelta": case(updater=ADADELTA, weight_decay=twice(0.01)),
    "weightdecay_schedule": rates(steps(0.1), weight_decay=twice(0.05)),
    "l2_schedule": rates(
        0.1, l2=steps(0.1), l1=ExponentialSchedule(initial_value=0.05, gamma=0.8)
    ),
    "l2_minibatch_false": rates(0.02, l2=0.05, mini_batch=False),
}

NORMALIZATIONS = {
    "gradnorm_renormalizel2perlayer": normalized("renormalize_l2_per_layer"),
    "gradnorm_renormalizel2perparamtype": normalized("renormalize_l2_per_param_type"),
    "gradnorm_clipelementwiseabsolutevalue": normalized(
        "clip_elementwise_absolute_value"
    ),
    "gradnorm_clipl2perlayer": normalized("clip_l2_per_layer"),
    "gradnorm_clipl2perparamtype": normalized("clip_l2_per_param_type"),
    "gradnorm_clip_not_reached": normalized("clip_l2_per_param_type", 100),
    "gradnorm_minibatch_false": normalized(
        "clip_l2_per_layer", 0.5, 0.02, mini_batch=False
    ),
    "gradnorm_clipl2_l2reg": case(
        updater=ADAM,
        l2=0.02,
        gradient_normalization="clip_l2_per_layer",
        gradient_normalization_threshold=0.1,
    ),
}

CONSTRAINTS = {
    "constraint_maxnorm": constrained(MaxNormConstraint(max_norm=0.6, dimensions=1)),
    "constraint_maxnorm_dim0": constrained(
        MaxNormConstraint(max_norm=0.6, dimensions=0)
    ),
    "constraint_minmaxnorm": constrained(
        MinMaxNormConstraint(min=0.5, max=0.9, rate=0.7, dimensions=1)
    ),
    "constraint_unitnorm": constrained(UnitNormConstraint(dimensions=1)),
    "constraint_unitnorm_01": constrained(UnitNormConstraint(dimensions=(0, 1))),
    # DL4J's builder for whole networks forgets constraints on all parameters.
    "constraint_nonneg_all": case(updater=Adam(learning_rate=0.05)),
    "constraint_nonneg_bias": case(
        updater=Adam(learning_rate=0.05),
        constraints=(NonNegativeConstraint(apply_to="biases"),),
    ),
}

CASES = {
    **UPDATERS,
    **SCHEDULES,
    **REGULARIZATIONS,
    **NORMALIZATIONS,
    **CONSTRAINTS,
}
