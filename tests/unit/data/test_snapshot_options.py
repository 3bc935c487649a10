"""Options that name the snapshot of a table."""

from datetime import datetime, timedelta, timezone

import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "given",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31 13:00:00+01:00",
        NOON,
        NOON.astimezone(timezone(timedelta(hours=-5))),
    ],
)
def test_times_with_an_offset_are_taken(given):
    assert SourceOptions(timestamp=given).timestamp == NOON


@pytest.mark.parametrize(
    "given", ["2026-01-31T12:00:00", "noon", 1769860800, NOON.replace(tzinfo=None)]
)
def test_other_times_are_refused(given):
    with pytest.raises(OptionError, match="timestamp must be a time of ISO 8601 with"):
        SourceOptions(timestamp=given)


@pytest.mark.parametrize(
    "options",
    [
        {"version": 1, "timestamp": NOON},
        {"version": 1, "snapshot_id": 2},
        {"snapshot_id": 2, "timestamp": NOON},
    ],
)
def test_two_names_of_a_snapshot_are_refused(options):
    with pytest.raises(OptionError, match=r"one of 'version', .* must name the snaps"):
        SourceOptions(**options)


@pytest.mark.parametrize("option", ["version", "snapshot_id"])
def test_numbers_are_whole(option):
    assert getattr(SourceOptions(**{option: 0}), option) == 0
    with pytest.raises(OptionError, match=f"{option} must be a whole number >= 0"):
        SourceOptions(**{option: -1})
