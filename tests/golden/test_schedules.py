"""Every schedule against the values that the real DL4J gave."""

import pytest

from daskdl.nn.conf.schedules import value_at
from tests.dialects import in_dl4j
from tests.unit.conf.schedule_cases import IDS, SCHEDULES, VALUES, table

TOLERANCE = 1e-12  # the manifest's


def test_every_schedule_of_the_manifest_is_tried(golden):
    entries = table(golden / "math" / "schedules.json")
    found = [entry["class"].removesuffix("Schedule").lower() for entry in entries]
    assert found == [schedule.type for schedule in SCHEDULES]


@pytest.mark.parametrize(("index", "schedule"), list(enumerate(SCHEDULES)), ids=IDS)
def test_values_over_forty_iterations(golden, index, schedule):
    expected = table(golden / "math" / "schedules.json")[index][VALUES]
    given = in_dl4j(schedule)
    values = [value_at(given, i, i // 6) for i in range(40)]
    assert values == pytest.approx(expected, rel=TOLERANCE, abs=0)
