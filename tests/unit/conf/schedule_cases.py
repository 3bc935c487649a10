"""The schedules of the golden table, as DL4J was given them."""

import json
from pathlib import Path

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

VALUES = "values_iteration_i_epoch_i_div_6"


def counted(kind):
    """Return every schedule on one count, in the order of the table."""
    of = {"initial_value": 0.3, "schedule_type": kind}
    cycle = {"max_learning_rate": 0.3, "schedule_type": kind}
    return [
        ExponentialSchedule(**of, gamma=0.9),
        InverseSchedule(**of, gamma=0.3, power=1.5),
        PolySchedule(**of, power=2, max_iter=20),
        SigmoidSchedule(**of, gamma=0.4, step_size=10),
        StepSchedule(**of, decay_rate=0.5, step=7),
        MapSchedule(values={0: 0.3, 5: 0.15, 20: 0.03}, schedule_type=kind),
        CycleSchedule(
            **cycle,
            initial_learning_rate=0.03,
            cycle_length=12,
            annealing_length=4,
            annealing_decay=0.2,
        ),
        CycleSchedule(
            **cycle,
            initial_learning_rate=0.03,
            cycle_length=20,
            annealing_length=2,
            annealing_decay=0.1,
        ),
    ]


def step(kind, every):
    return StepSchedule(
        initial_value=0.3, decay_rate=0.5, step=every, schedule_type=kind
    )


SCHEDULES = [
    *counted("iteration"),
    *counted("epoch"),
    FixedSchedule(value=0.3),
    RampSchedule(base=step("iteration", 10), num_iter=6),
    RampSchedule(base=step("epoch", 2), num_iter=6),
]
IDS = [f"{index}-{schedule.type}" for index, schedule in enumerate(SCHEDULES)]


def table(file: Path):
    """Return what DL4J made of each schedule."""
    return json.loads(file.read_text("utf-8"))
