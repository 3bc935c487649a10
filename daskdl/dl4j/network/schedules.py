"""Schedules in DL4J's JSON, beside the plain number that they override."""

from collections.abc import Mapping
from typing import Any

from daskdl.dl4j.network.json_objects import (
    Codec,
    JavaClass,
    JavaTable,
    Json,
    Key,
    expect_mapping,
    look_up,
    shown,
)
from daskdl.errors import FormatError

_COUNTED = {"ITERATION": "iteration", "EPOCH": "epoch"}
_ITERATION_OR_EPOCH = Codec(
    lambda value, where: look_up(_COUNTED, value, where), lambda name: name.upper()
)


# Digits of the longest whole number that Java counts to.
_LONGEST_COUNT = 10


def _read_values(value: Json, where: str) -> dict[int, float]:
    numbers = {}
    for key, number in expect_mapping(value, where).items():
        if not key.isdecimal() or len(key) > _LONGEST_COUNT:
            raise FormatError(
                f"{where}: must have whole numbers as keys, got {shown(key)}."
            )
        numbers[int(key)] = number
    return numbers


def _write_values(values: Mapping[Any, float]) -> Json:
    return {str(key): values[key] for key in sorted(values, key=int)}


def _counted(name: str, tag: str, **options: str) -> JavaClass:
    keys = {java: Key(option) for java, option in options.items()}
    return JavaClass(
        name, tag, {**keys, "scheduleType": Key("schedule_type", _ITERATION_OR_EPOCH)}
    )


_CYCLE = _counted(
    "CycleSchedule",
    "cycle",
    annealingDecay="annealing_decay",
    annealingLength="annealing_length",
    cycleLength="cycle_length",
    initialLearningRate="initial_learning_rate",
    maxLearningRate="max_learning_rate",
)

SCHEDULES = JavaTable(
    "schedule",
    "org.nd4j.linalg.schedule.",
    [
        JavaClass("FixedSchedule", "fixed", {"value": Key("value")}),
        _counted(
            "ExponentialSchedule",
            "exponential",
            gamma="gamma",
            initialValue="initial_value",
        ),
        _counted(
            "InverseSchedule",
            "inverse",
            gamma="gamma",
            initialValue="initial_value",
            power="power",
        ),
        _counted(
            "PolySchedule",
            "poly",
            initialValue="initial_value",
            maxIter="max_iter",
            power="power",
        ),
        _counted(
            "SigmoidSchedule",
            "sigmoid",
            gamma="gamma",
            initialValue="initial_value",
            stepSize="step_size",
        ),
        _counted(
            "StepSchedule",
            "step",
            decayRate="decay_rate",
            initialValue="initial_value",
            step="step",
        ),
        JavaClass(
            "MapSchedule",
            "map",
            {
                "scheduleType": Key("schedule_type", _ITERATION_OR_EPOCH),
                "values": Key("values", Codec(_read_values, _write_values)),
            },
        ),
        _CYCLE,
    ],
)


def read_schedule(value: Json, where: str) -> Any:
    """Return a schedule; a fixed one is the number itself.

    Raises
    ------
    FormatError
        If it is unknown, or a ramp: DL4J writes none of its properties.
    """
    mapping = expect_mapping(value, where)
    if str(mapping.get("@class", "")).endswith(".RampSchedule"):
        raise FormatError(
            f"{where}: must hold what the ramp goes up to, got a RampSchedule, of "
            "which DL4J writes nothing but the name. Replace it in the file by the "
            "schedule that it led to."
        )
    schedule = SCHEDULES.read(mapping, where)
    is_fixed = isinstance(schedule, dict) and schedule["type"] == "fixed"
    return schedule["value"] if is_fixed else schedule


def write_schedule(value: Any) -> Json:
    """Return a schedule for a number or a schedule."""
    if not isinstance(value, Mapping):
        value = {"type": "fixed", "value": float(value)}
    if value["type"] == "ramp":
        raise FormatError(
            "DL4J: cannot keep a ramp schedule in a file: it writes none of its "
            "properties. Use another schedule, or daskdl's own format."
        )
    return _with_cycle(SCHEDULES.write(value), value)


SCHEDULE = Codec(read_schedule, write_schedule)


def _with_cycle(written: dict[str, Json], value: Mapping[str, Any]) -> dict[str, Json]:
    """Add the properties of a cycle that DL4J computes, in its order of writing."""
    if value["type"] != "cycle":
        return written
    steps = (value["cycle_length"] - value["annealing_length"]) // 2
    rise = value["max_learning_rate"] - value["initial_learning_rate"]
    written = {**written, "increment": rise / steps, "stepSize": steps}
    order = (
        "@class annealingDecay annealingLength cycleLength initialLearningRate "
        "maxLearningRate scheduleType increment stepSize"
    )
    return {name: written[name] for name in order.split()}


def read_either(
    value: Mapping[str, Json], plain: str, scheduled: str, where: str
) -> Any:
    """Return the schedule of an object, or else its number; None if it has neither.

    Raises
    ------
    FormatError
        If the number is NaN, as it is beside a schedule, and there is no schedule.
    """
    if value.get(scheduled) is not None:
        return read_schedule(value[scheduled], f"{where}.{scheduled}")
    number = value.get(plain)
    if number == "NaN":
        # DL4J's AdaGrad loses its schedule wherever a layer is copied, and trains NaN.
        raise FormatError(
            f"{where}: must have a number in {plain!r} or a schedule in "
            f"{scheduled!r}, got NaN and no schedule: DL4J loses that of AdaGrad, and "
            "makes every parameter NaN. Build the network with a number there, or put "
            "the schedule into its configuration.json."
        )
    return number


def write_either(
    value: Any, plain: str, scheduled: str, *, is_optional: bool
) -> dict[str, Json]:
    """Return both properties for a number or schedule.

    Parameters
    ----------
    value : float, mapping or None
        Number or schedule.
    plain, scheduled : str
        The properties.
    is_optional : bool
        Whether DL4J leaves the schedule out where there is none.
    """
    if isinstance(value, Mapping):
        return {plain: "NaN", scheduled: write_schedule(value)}
    return {plain: value} if is_optional else {plain: value, scheduled: None}
