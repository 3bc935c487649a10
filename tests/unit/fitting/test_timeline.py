"""Seconds of activities in bins of time."""

import json
from dataclasses import asdict

import pytest

from daskdl.errors import FormatError
from daskdl.nn.fitting.events import FitReport, SpansMeasured
from daskdl.nn.fitting.timeline import ACTIVITIES, MOST_BINS, Timeline

COMPUTE = ACTIVITIES.index("compute")


def spans(member=0, start_s=0.0, stop_s=1.0, **changes):
    told = {
        "time_s": stop_s,
        "worker": f"tcp://w{member}",
        "member": member,
        "start_s": start_s,
        "stop_s": stop_s,
        "seconds": {"compute": (stop_s - start_s) / 2},
        "minibatches": 3,
        "clock_offset_s": 0.002,
        "clock_error_s": 0.001,
    }
    return SpansMeasured(**{**told, **changes})


def filled(*events):
    report = FitReport()
    for event in events:
        report.add(event)
    return report


def test_seconds_are_spread_over_the_bins_between_two_moments():
    lane = filled(spans(start_s=1.0, stop_s=2.0)).timeline.lanes[0]
    assert lane.first == 4
    micros = [row[COMPUTE] for row in lane.micros]
    assert micros == [125_000] * 4 + [0]


def test_a_bin_that_is_covered_in_part_gets_a_part():
    lane = filled(spans(start_s=0.375, stop_s=0.875)).timeline.lanes[0]
    assert [row[COMPUTE] for row in lane.micros] == [62_500, 125_000, 62_500]


def test_a_moment_without_duration_counts_to_its_bin():
    event = spans(start_s=0.3, stop_s=0.3, seconds={"compute": 0.01})
    assert filled(event).timeline.lanes[0].micros[0][COMPUTE] == 10_000


def test_what_was_before_the_fit_counts_to_its_first_bin():
    event = spans(start_s=-3.0, stop_s=-1.0)
    assert filled(event).timeline.lanes[0].seconds["compute"] == 1.0


def test_clocks_may_tell_an_earlier_time_than_before():
    events = spans(start_s=5.0, stop_s=6.0), spans(start_s=2.0, stop_s=3.0)
    lane = filled(*events).timeline.lanes[0]
    assert lane.first == 8
    assert lane.seconds["compute"] == 1.0


def test_a_day_of_a_hundred_workers_has_few_bins_and_all_seconds():
    day_s, step_s = 86_400, 720
    report = FitReport()
    for start_s in range(0, day_s, step_s):
        for member in range(100):
            report.add(spans(member, start_s, start_s + step_s))
    lanes = report.timeline.lanes
    assert len(lanes) == 100
    assert max(len(lane.micros) for lane in lanes) <= MOST_BINS
    assert lanes[99].seconds["compute"] == pytest.approx(day_s / 2, abs=0.01)
    assert len(json.dumps(report.timeline.to_lines())) < 2_000_000


def test_lanes_that_begin_at_odd_bins_stay_where_they_are_in_time():
    late = spans(1, 99.25, 99.5)
    timeline = filled(late, spans(0, 0.0, 130.0)).timeline
    assert timeline.bin_s == 0.5
    lane = timeline.lanes[0]
    assert lane.first * timeline.bin_s == 99.0
    assert sum(row[COMPUTE] for row in lane.micros) == 125_000


def test_members_of_a_session_that_goes_on_have_lanes_of_their_own():
    before = filled(spans(0, 0.0, 1.0))
    after = FitReport.from_dict(json.loads(json.dumps(asdict(before))))
    after.add(spans(0, 5.0, 6.0))
    assert [lane.seconds["compute"] for lane in after.timeline.lanes] == [0.5, 0.5]


def test_checkpoints_of_earlier_versions_have_no_timeline():
    values = asdict(filled(spans()))
    del values["timeline"]
    assert FitReport.from_dict(values).timeline == Timeline()


def test_lines_of_json_are_read_back():
    event = spans(latest=((0.5, "wait", 0.25),))
    timeline = filled(event, spans(1)).timeline
    lines = [json.loads(json.dumps(line)) for line in timeline.to_lines()]
    assert Timeline.from_lines("f", lines) == timeline
    assert lines[0]["version"] == 1


@pytest.mark.parametrize(
    "lines", [[], [[]], [{"format": "daskdl-timeline", "version": 2}]]
)
def test_lines_of_something_else_are_refused(lines):
    with pytest.raises(FormatError, match="f: must begin with the head of a timeline"):
        Timeline.from_lines("f", lines)


@pytest.mark.parametrize("bin_s", [0, -1.0, float("inf"), float("nan")])
def test_bins_of_no_length_are_refused(bin_s):
    (head,) = Timeline().to_lines()
    with pytest.raises(FormatError, match="bin_s must be at least"):
        Timeline.from_lines("f", [{**head, "bin_s": bin_s}])


@pytest.mark.parametrize(
    "lane", [7, {}, {"micros": [[1]], "latest": []}, {"latest": [], "micros": 3}]
)
def test_lanes_that_are_none_are_refused(lane):
    lines = [*Timeline().to_lines(), lane]
    with pytest.raises(FormatError, match="f: must hold a lane in each line"):
        Timeline.from_lines("f", lines)


def test_the_report_as_plain_values_leaves_the_timeline_to_a_file_of_its_own():
    assert "timeline" not in filled(spans()).to_dict()
