"""The timeline on the page of a run."""

import re

import pytest

from daskdl.cluster.stats.report import render_report
from daskdl.cluster.stats.style import STYLE
from daskdl.cluster.stats.timeline_chart import WORDS, timeline
from daskdl.nn.fitting.events import (
    EpochFinished,
    FitReport,
    SpansMeasured,
    WorkerLost,
    WorkersJoined,
)
from daskdl.nn.fitting.timeline import ACTIVITIES
from tests.unit.cluster.test_report_page import Balanced


def spans(member, start_s, stop_s, seconds=None, **changes):
    half = {"compute": (stop_s - start_s) / 2, "wait": (stop_s - start_s) / 4}
    told = {
        "time_s": stop_s,
        "worker": f"tcp://10.0.0.{member}:40000",
        "member": member,
        "start_s": start_s,
        "stop_s": stop_s,
        "seconds": seconds or half,
        "minibatches": 3,
        "clock_offset_s": 0.0015,
        "clock_error_s": 0.0005,
    }
    return SpansMeasured(**{**told, **changes})


def report_of(*events, wall_s=0.0):
    report = FitReport(wall_s=wall_s)
    for event in events:
        report.add(event)
    return report


def lost(member, time_s, reason=""):
    return WorkerLost(
        time_s=time_s,
        epoch=1,
        worker=f"tcp://10.0.0.{member}:40000",
        reason=reason,
        redealt_examples=0,
        repeated_examples=0,
    )


def epoch(number, time_s):
    return EpochFinished(
        time_s=time_s, epoch=number, examples=1, score=0.5, wall_s=1.0, workers=2
    )


def lanes(drawn):
    return re.findall(r'<div class="lane" title="([^"]*)">', drawn)


def test_a_fit_in_one_process_has_none():
    assert timeline(FitReport()) == ""
    assert "Timeline" not in render_report(FitReport(), title="A run", summary={})


def test_each_worker_has_a_lane_that_tells_its_seconds():
    drawn = timeline(report_of(spans(1, 0.0, 8.0), spans(2, 0.0, 4.0)))
    first, second = lanes(drawn)
    assert first == "tcp://10.0.0.1:40000: compute 4.0 s, wait 2.0 s"
    assert second.startswith("tcp://10.0.0.2:40000: compute 2.0 s")


def test_areas_stand_on_each_other_as_high_as_their_share():
    drawn = timeline(report_of(spans(1, 0.0, 2.0), wall_s=2.0))
    assert '<path class="compute" d="M0 50v-25h8v25h1V50z"/>' in drawn
    # Half the time computes, and a quarter waits above that.
    assert '<path class="wait" d="M0 50v-38h8v38h1V50z"/>' in drawn
    assert drawn.index('class="wait" d=') < drawn.index('class="compute" d=')


def test_the_legend_tells_what_there_was():
    drawn = timeline(report_of(spans(1, 0.0, 2.0)))
    assert WORDS["compute"] in drawn
    assert WORDS["encode"] not in drawn


@pytest.mark.parametrize("name", ACTIVITIES)
def test_every_activity_has_words_and_a_colour(name):
    assert WORDS[name]
    assert f".{name} {{ --series:" in STYLE


def test_who_was_lost_is_marked_where_it_went():
    events = spans(1, 0.0, 4.0), spans(2, 0.0, 8.0), lost(1, 4.0, "out of memory")
    drawn = timeline(report_of(*events, wall_s=8.0))
    assert lanes(drawn)[0].startswith(
        "tcp://10.0.0.1:40000: lost at 4.0 seconds, out of memory, compute"
    )
    assert '<path class="lost" d="M16.0 0V50"/>' in drawn
    assert drawn.count("✕") == 1
    assert 'class="lost" style="left:50.0%"' in drawn


def test_of_a_worker_that_came_back_the_life_that_ended_is_marked():
    events = [
        spans(1, 0.0, 4.0),
        lost(1, 5.0),
        spans(3, 8.0, 9.0, worker="tcp://10.0.0.1:40000"),
        WorkersJoined(time_s=8.0, epoch=1, workers=("tcp://10.0.0.1:40000",)),
    ]
    before, after = lanes(timeline(report_of(*events, wall_s=10.0)))
    assert "lost at" in before
    assert "lost at" not in after


def test_one_that_was_lost_before_it_told_anything_has_no_lane():
    assert "✕" not in timeline(report_of(spans(2, 0.0, 8.0), lost(1, 4.0)))


def test_ends_of_epochs_and_newcomers_are_marked():
    joined = WorkersJoined(time_s=6.0, epoch=2, workers=("tcp://c",))
    events = spans(1, 0.0, 8.0), epoch(1, 4.0), epoch(2, 8.0), joined
    drawn = timeline(report_of(*events, wall_s=8.0))
    assert 'style="left:50.0%" title="end of epoch 1"' in drawn
    assert 'style="left:75.0%" title="tcp://c joined at 6.0 seconds"' in drawn


def test_of_many_epochs_some_are_marked():
    epochs = [epoch(n, float(n)) for n in range(1, 1001)]
    drawn = timeline(report_of(spans(1, 0.0, 1000.0), *epochs, wall_s=1000.0))
    assert drawn.count("end of epoch") == 50
    assert "end of epoch 1000" in drawn


@pytest.mark.parametrize(
    ("wall_s", "unit"), [(30.0, "seconds"), (600.0, "minutes"), (86_400.0, "hours")]
)
def test_time_is_told_in_units_that_people_read(wall_s, unit):
    drawn = timeline(report_of(spans(1, 0.0, wall_s), wall_s=wall_s))
    assert f'<span class="who">{unit}</span>' in drawn


def test_a_day_of_a_hundred_workers_is_a_page_that_opens_at_once():
    events = []
    for member in range(100):
        for n in range(240):
            start_s = 360.0 * n
            share = {"compute": 30.0 + (7 * n * member) % 200, "wait": 10.0 + n % 50}
            events.append(spans(member, start_s, start_s + 360.0, share))
        events.append(
            spans(member, 86_400.0, 86_400.1, latest=((86_400.0, "wait", 0.1),) * 256)
        )
    drawn = timeline(report_of(*events, wall_s=86_400.0))
    assert len(lanes(drawn)) == 100
    assert 'class="timeline very-many"' in drawn
    # 200 pixels are as many as a telephone has for it.
    assert len(drawn) < 1_200_000
    assert drawn.count("<path") < 100 * 3 + 16 * 7


def test_more_lanes_than_can_be_looked_at_are_counted():
    events = [spans(member, 0.0, 1.0) for member in range(300)]
    assert "44 more that joined later are not shown." in timeline(report_of(*events))


def test_the_last_moments_are_shown_span_by_span():
    events = [
        spans(1, 0.0, 9.0, latest=((8.0, "compute", 0.5), (8.5, "wait", 0.5))),
        spans(2, 0.0, 9.0, latest=((7.0, "compute", 1.5), (8.5, "encode", 0.5))),
        spans(3, 0.0, 5.0),
    ]
    drawn = timeline(report_of(*events)).partition("The last 1,000 milliseconds")[2]
    assert drawn.count('class="lane"') == 2
    assert '<path class="wait" d="M1000 0h1000v1H1000z"/>' in drawn
    # What began before is cut.
    assert '<path class="compute" d="M0 0h1000v1H0z"/>' in drawn


def test_a_table_tells_all_of_it_in_numbers():
    drawn = timeline(report_of(spans(1, 0.0, 8.0))).partition("<table>")[2]
    for cell in ("tcp://10.0.0.1:40000", "3", "4.0", "1.5 ± 0.5 ms"):
        assert f"<td>{cell}</td>" in drawn


def test_the_page_is_well_formed_and_needs_nothing_else():
    events = spans(1, 0.0, 4.0), epoch(1, 4.0), lost(1, 4.0, "<full>")
    page = render_report(report_of(*events), title="A run", summary={})
    parser = Balanced()
    parser.feed(page)
    assert (parser.open, parser.wrong) == ([], [])
    assert re.findall(r"(?:src|href|@import|url\()\W*\S+|https?://\S+", page) == []
