"""Networks that differ in how they are trained."""

import daskdl as dl
from tests.dl4j.networks import (
    ADAM,
    IMAGES,
    ROWS,
    SERIES,
    conv,
    dense,
    graph,
    lstm,
    out,
    rnn_out,
    sequence,
    simple,
)

SGD = {"type": "sgd", "learning_rate": 0.05}


def rows(**options):
    return sequence(ROWS, dense(n_out=5), out(), **options)


def learning(**schedule):
    return rows(updater={"type": "sgd", "learning_rate": schedule})


def series(*layers, **options):
    return sequence(
        SERIES,
        *layers,
        rnn_out(),
        backprop_type="truncated_bptt",
        **{"tbptt_fwd_length": 2, "tbptt_back_length": 2, **options},
    )


_UPDATERS = {
    name: {"type": name, "learning_rate": 0.02}
    for name in (
        "sgd",
        "adam",
        "amsgrad",
        "nadam",
        "adamax",
        "adagrad",
        "rmsprop",
        "nesterovs",
    )
}
_SCHEDULES = {
    "exponential": {"initial_value": 0.1, "gamma": 0.9},
    "inverse": {"initial_value": 0.1, "gamma": 0.5, "power": 0.7},
    "poly": {"initial_value": 0.1, "power": 2.0, "max_iter": 20},
    "sigmoid": {"initial_value": 0.1, "gamma": 0.3, "step_size": 2},
    "step": {"initial_value": 0.1, "decay_rate": 0.5, "step": 2.0},
    "map": {"values": {0: 0.1, 1: 0.07, 2: 0.05, 4: 0.03}},
}
_CONSTRAINTS = {
    "max norm": {"type": "max_norm", "max_norm": 0.5, "dimensions": 0},
    "min max norm": {"type": "min_max_norm", "min": 0.2, "max": 0.6, "dimensions": 0},
    "unit norm": {"type": "unit_norm", "dimensions": 0},
    "non negative": {"type": "non_negative"},
}
_NORMALIZATIONS = (
    "renormalize_l2_per_layer",
    "renormalize_l2_per_param_type",
    "clip_elementwise_absolute_value",
    "clip_l2_per_layer",
    "clip_l2_per_param_type",
)

TRAININGS = {
    **{name: rows(updater=updater) for name, updater in _UPDATERS.items()},
    "adadelta": rows(updater={"type": "adadelta"}),
    "noop": rows(updater={"type": "noop"}),
    **{
        f"{name} by {counted}": learning(type=name, schedule_type=counted, **options)
        for name, options in _SCHEDULES.items()
        for counted in ("iteration", "epoch")
    },
    "cycle": learning(
        type="cycle",
        initial_learning_rate=0.02,
        max_learning_rate=0.1,
        cycle_length=8,
        annealing_length=2,
        annealing_decay=0.1,
    ),
    "momentum by iteration": rows(
        updater={
            "type": "nesterovs",
            "learning_rate": 0.05,
            "momentum": {"type": "step", **_SCHEDULES["step"]},
        }
    ),
    "two updaters": sequence(
        ROWS,
        dense(n_out=5, updater=_UPDATERS["nesterovs"], bias_updater=SGD),
        out(updater=_UPDATERS["rmsprop"]),
    ),
    "l1, l2": rows(l1=0.01, l2=0.02, l1_bias=0.03, l2_bias=0.04),
    "l2 by schedule": rows(l2={"type": "step", **_SCHEDULES["step"]}),
    "weight decay": rows(weight_decay=0.1, weight_decay_bias=0.05),
    "weight decay without learning rate": rows(
        weight_decay={"coefficient": 0.01, "apply_learning_rate": False}
    ),
    **{
        name: rows(constraints=[constraint])
        for name, constraint in _CONSTRAINTS.items()
    },
    "constraint of one layer": sequence(
        ROWS,
        dense(
            n_out=5, constraints=[{**_CONSTRAINTS["max norm"], "apply_to": "biases"}]
        ),
        out(),
    ),
    "constraint of images": sequence(
        IMAGES,
        conv(
            3,
            constraints=[{**_CONSTRAINTS["max norm"], "dimensions": [1, 2, 3]}],
        ),
        out(),
    ),
    **{
        name: rows(
            updater=SGD,
            gradient_normalization=name,
            gradient_normalization_threshold=0.05,
        )
        for name in _NORMALIZATIONS
    },
    "no division by the minibatch": rows(mini_batch=False),
    "tbptt, lstm": series(lstm()),
    "tbptt, graves lstm": series(dl.GravesLSTM(n_out=4)),
    "tbptt, simple rnn": series(simple()),
    "tbptt, uneven": series(lstm(), tbptt_fwd_length=4, tbptt_back_length=4),
    "graph": graph(
        ROWS,
        {
            "a": dense(n_out=4, inputs="in", updater=SGD),
            "b": dense(n_out=3, inputs="in", l2=0.1),
            "m": dl.MergeVertex(inputs=("a", "b")),
            "bn": dl.BatchNormalization(inputs="m"),
            "out": out(inputs="bn", updater=ADAM),
        },
    ),
    "tbptt, graph": graph(
        SERIES,
        {"l": lstm(inputs="in"), "out": rnn_out(inputs="l")},
        backprop_type="truncated_bptt",
        tbptt_fwd_length=2,
        tbptt_back_length=2,
    ),
}
