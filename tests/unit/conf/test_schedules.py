"""Schedules as values, and their values against a table of the real DL4J."""

from pathlib import Path

import pytest

from daskdl.errors import OptionError
from daskdl.nn.conf.schedules import (
    CycleSchedule,
    ExponentialSchedule,
    FixedSchedule,
    FractionSchedule,
    MapSchedule,
    NonNegativeSchedule,
    PolySchedule,
    RampSchedule,
    SigmoidSchedule,
    value_at,
)
from daskdl.nn.conf.updaters import Adam, Nesterovs, RmsProp, Sgd
from daskdl.nn.conf.values import Conf
from tests.dialects import in_dl4j
from tests.unit.conf.schedule_cases import IDS, SCHEDULES, VALUES, table

DATA = Path(__file__).parents[2] / "data" / "training" / "schedules.json"
EXPONENTIAL = {"type": "exponential", "initial_value": 0.2, "gamma": 0.5}


class Holder(Conf):
    rate: NonNegativeSchedule = 0.1
    momentum: FractionSchedule = 0.9


@pytest.mark.parametrize(("index", "schedule"), list(enumerate(SCHEDULES)), ids=IDS)
def test_values_are_those_of_dl4j(index, schedule):
    given = in_dl4j(schedule)
    values = [value_at(given, i, i // 6) for i in range(40)]
    assert values == pytest.approx(table(DATA)[index][VALUES], rel=1e-14, abs=0)


def test_the_table_has_no_other_schedule():
    found = [entry["class"].removesuffix("Schedule").lower() for entry in table(DATA)]
    assert found == [schedule.type for schedule in SCHEDULES]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=IDS)
def test_what_is_dumped_makes_the_same_schedule(schedule):
    dumped = Holder(rate=schedule).model_dump(mode="json")
    assert Holder(**dumped).rate == schedule


def test_a_number_is_worth_itself():
    assert value_at(0.25, 7, 3) == 0.25


def test_a_number_stays_a_number():
    assert Holder(rate=1).model_dump()["rate"] == 1.0


def test_text_is_no_number():
    with pytest.raises(OptionError, match="rate: must be a number, got '1e-3'"):
        Holder(rate="1e-3")


@pytest.mark.parametrize(
    "name", ["exponential", "Exponential", "ExponentialSchedule", "EXPONENTIAL"]
)
def test_names_are_found_however_they_are_written(name):
    expected = ExponentialSchedule(initial_value=0.2, gamma=0.5)
    assert Holder(rate={**EXPONENTIAL, "type": name}).rate == expected


def test_the_count_is_named_in_dl4js_spelling_too():
    schedule = Holder(rate={**EXPONENTIAL, "schedule_type": "EPOCH"}).rate
    assert value_at(schedule, 100, 1) == pytest.approx(0.1)


def test_keys_of_a_map_may_be_text():
    """Those of JSON are."""
    schedule = MapSchedule(values={"0": 1.0, "5": 0.1})
    assert [value_at(schedule, i, 0) for i in (0, 4, 5)] == [1.0, 1.0, 0.1]


def test_a_ramp_leads_up_to_a_plain_number_too():
    schedule = RampSchedule(base=0.5, num_iter=4)
    assert [value_at(schedule, i, 0) for i in (0, 1, 3, 9)] == [0.125, 0.25, 0.5, 0.5]


POLY = PolySchedule(initial_value=1, power=1, max_iter=4)


def test_poly_falls_to_zero():
    assert [value_at(POLY, i, 0) for i in (0, 2, 3, 4)] == [1.0, 0.5, 0.25, 0.0]


def test_poly_grows_in_dl4j_and_then_is_zero():
    schedule = in_dl4j(POLY)
    assert [value_at(schedule, i, 0) for i in (0, 2, 3, 4)] == [1.0, 1.5, 1.75, 0.0]


def test_sigmoid_is_zero_where_its_exponential_is_too_large_for_a_number():
    schedule = SigmoidSchedule(initial_value=1, gamma=-10, step_size=0)
    assert value_at(schedule, 1000, 0) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": -1}, r"Holder\.rate: must be greater than or equal to 0, got -1\."),
        ({"rate": True}, r"Holder\.rate: must be a number, got True\."),
        ({"rate": "fast"}, r"Holder\.rate: must be a number, got 'fast'\."),
        ({"rate": [1]}, r"Holder\.rate: must be a number, got \[1\]\."),
        ({"rate": float("inf")}, r"Holder\.rate: must be a finite number, got inf\."),
        ({"momentum": 1}, r"Holder\.momentum: must be less than 1, got 1\."),
        (
            {"rate": {"type": "exponentail"}},
            r"Holder\.rate\.type: must be a known .*\. Did you mean 'exponential'\?",
        ),
        (
            {"rate": {"gamma": 2}},
            r"Holder\.rate: must be a mapping with a known `type`, got \{'gamma': 2\}",
        ),
        (
            {"rate": {"type": "fixed"}},
            r"Holder\.rate\.value: must be given\.",
        ),
        (
            {"rate": {**EXPONENTIAL, "gama": 2}},
            r"Holder\.rate\.gama: is not a known key\. Did you mean 'gamma'\?",
        ),
        (
            {"rate": {"type": "ramp", "num_iter": 3, "base": {"type": "fixed"}}},
            r"Holder\.rate\.base\.value: must be given\.",
        ),
        (
            {"rate": {"type": "map", "values": {1: 0.5}}},
            r"Holder\.rate\.values: must have the key 0, where it begins, got \{1: 0\.",
        ),
        (
            {"rate": {**EXPONENTIAL, "schedule_type": "step"}},
            r"Holder\.rate\.schedule_type: must be one of 'iteration', 'epoch', got",
        ),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_path(options, message):
    with pytest.raises(OptionError, match=message):
        Holder(**options)


STEP = {"type": "step", "initial_value": 0.1, "decay_rate": 0.5, "step": 3}
CYCLE = {
    "type": "cycle",
    "initial_learning_rate": 0.1,
    "max_learning_rate": 1,
    "cycle_length": 9,
    "annealing_length": 3,
    "annealing_decay": 0.1,
}


@pytest.mark.parametrize(
    ("schedule", "place"),
    [
        ({"type": "fixed", "value": -0.1}, "value"),
        ({**EXPONENTIAL, "initial_value": -0.1}, "initial_value"),
        ({**EXPONENTIAL, "gamma": -0.1}, "gamma"),
        (
            {"type": "inverse", "initial_value": -0.1, "gamma": 1, "power": 1},
            "initial_value",
        ),
        (
            {"type": "poly", "initial_value": -0.1, "power": 1, "max_iter": 9},
            "initial_value",
        ),
        (
            {"type": "sigmoid", "initial_value": -0.1, "gamma": 1, "step_size": 9},
            "initial_value",
        ),
        ({**STEP, "initial_value": -0.1}, "initial_value"),
        ({**STEP, "decay_rate": -0.1}, "decay_rate"),
        ({"type": "map", "values": {0: 1, 5: -0.1}}, r"values\[5\]"),
        ({**CYCLE, "initial_learning_rate": -0.1}, "initial_learning_rate"),
        ({**CYCLE, "max_learning_rate": -0.1}, "max_learning_rate"),
        ({**CYCLE, "annealing_decay": -0.1}, "annealing_decay"),
        ({"type": "ramp", "num_iter": 3, "base": -0.1}, "base"),
        (
            {"type": "ramp", "num_iter": 3, "base": {**STEP, "initial_value": -0.1}},
            r"base\.initial_value",
        ),
    ],
)
def test_a_rate_that_goes_below_0_is_refused(schedule, place):
    with pytest.raises(
        OptionError,
        match=rf"Holder\.rate\.{place}: must not be negative here, got -0\.1",
    ):
        Holder(rate=schedule)


@pytest.mark.parametrize("kind", [Sgd, Adam, Nesterovs, RmsProp])
def test_so_are_learning_rates(kind):
    with pytest.raises(
        OptionError, match=r"learning_rate\.values\[0\]: must not be neg"
    ):
        kind(learning_rate=MapSchedule(values={0: -0.1}))


def test_a_sigmoid_may_fall():
    falling = {"type": "sigmoid", "initial_value": 1, "gamma": -1, "step_size": 9}
    assert Holder(rate=falling).rate.gamma == -1


def test_a_cycle_without_room_for_its_ramps_is_refused():
    with pytest.raises(
        OptionError, match="annealing_length: must leave at least 2 counts of cycle_l"
    ):
        CycleSchedule(
            initial_learning_rate=0.1,
            max_learning_rate=1,
            cycle_length=4,
            annealing_length=3,
            annealing_decay=0.1,
        )


def test_a_schedule_may_be_given_as_a_value():
    assert Holder(rate=FixedSchedule(value=0.5)).rate == FixedSchedule(value=0.5)
