"""The report of a run as one HTML page."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from daskdl.cluster.stats.charts import Chart, Marker, line_chart, nice_ticks
from daskdl.cluster.stats.report import EvaluationSummary, render_report
from daskdl.nn.fitting.events import (
    CheckpointFailed,
    EpochFinished,
    FitReport,
    FitStarted,
    Progress,
    ResidualMeasured,
    WorkerLeftOut,
    WorkerLost,
    WorkersJoined,
    WorkersRejoined,
)

VOID = {"meta", "br", "line", "circle", "polyline"}


class Balanced(HTMLParser):
    """Collects tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.wrong = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture
def report():
    """Two epochs of 100 examples; a worker goes in the second."""
    made = FitReport()
    made.add(
        FitStarted(
            workers=("tcp://a", "tcp://b"), examples=100, minibatches=4, epochs=2
        )
    )
    for number in range(8):
        made.add(
            Progress(
                time_s=float(number),
                epoch=number // 4 + 1,
                examples=25 * (number % 4 + 1),
                iteration=number,
                score=2.0 / (number + 1),
                examples_per_s=500.0,
                workers=2,
                bytes_sent=10,
            )
        )
    made.add(
        WorkerLost(
            time_s=5.5,
            epoch=2,
            worker="tcp://b",
            redealt_examples=1320,
            repeated_examples=32,
        )
    )
    for epoch in (1, 2):
        made.add(
            EpochFinished(
                time_s=4.0 * epoch,
                epoch=epoch,
                examples=100,
                score=0.5,
                wall_s=4.0,
                workers=2,
            )
        )
    return made


def page(report, **changes):
    return render_report(report, title="A run", summary={"loss": "0.1"}, **changes)


def evaluation(n_classes=3):
    counts = [[9 if i == j else 0 for j in range(n_classes)] for i in range(n_classes)]
    counts[0][1] = 1
    return EvaluationSummary(
        name="/data/test", metrics={"accuracy": 0.96789}, confusion=counts
    )


def test_the_page_is_well_formed(report):
    parser = Balanced()
    parser.feed(page(report, evaluation=evaluation(), job="a: 1", network="net"))
    assert (parser.open, parser.wrong) == ([], [])


def test_the_page_needs_nothing_else(report):
    found = re.findall(
        r"(?:src|href|@import|url\()\W*\S+|https?://\S+",
        page(report, evaluation=evaluation()),
    )
    assert found == []


def test_the_page_follows_the_readers_light_or_dark_setting(report):
    assert "prefers-color-scheme: dark" in page(report)


def test_text_of_the_user_is_escaped(report):
    assert "<script>" not in page(report, job="<script>", network="<script>")


def test_what_listeners_reported_stands_beside_the_score(report):
    first, *others = report.epochs
    report.epochs[:] = [replace(first, values={"validation_loss": 0.125}), *others]
    text = page(report)
    assert "validation_loss" in text
    assert "0.125" in text


def test_the_score_curve_counts_examples_over_epochs(report):
    assert "score 0.25 at 200 examples" in page(report)


def test_of_many_epochs_some_are_marked(report):
    (*_, last) = report.epochs
    for epoch in range(3, 521):
        report.add(replace(last, epoch=epoch))
    drawn = page(report)
    # Every eleventh, from the end.
    assert drawn.count('<line class="epoch"') == 48
    assert "<title>end of epoch 520</title>" in drawn


def test_short_epochs_give_the_score_curve_themselves(report):
    report.progress.clear()
    assert "score 0.5 at 200 examples" in page(report)


def test_the_last_residual_of_each_worker_is_shown(report):
    for iteration, threshold in ((1, 0.25), (2, 0.5)):
        event = ResidualMeasured(
            time_s=1.0,
            worker="tcp://a",
            iteration=iteration,
            length=2000,
            threshold=threshold,
            reached=1200,
            sparsity=0.6,
            mean=0.125,
            largest=0.75,
            percentiles={"99.9": 0.625},
        )
        report.add(event)
    shown = page(report)
    assert "<td>2</td><td>0.5</td><td>1,200 of 2,000</td><td>0.125</td>" in shown
    assert "<td>0.625</td><td>0.75</td>" in shown
    assert "<td>0.25</td>" not in shown


def test_a_failed_checkpoint_is_told(report):
    report.add(CheckpointFailed(time_s=4.0, epoch=1, reason="x: <no> answer."))
    assert "No checkpoint after epoch 1: x: &lt;no&gt; answer." in page(report)


def test_a_worker_that_was_left_out_is_told(report):
    report.add(WorkerLeftOut(time_s=4.0, worker="tcp://c", reason="no <daskdl>."))
    assert "Left out: worker tcp://c: no &lt;daskdl&gt;." in page(report)


def test_a_lost_worker_is_told_with_its_repeated_examples(report):
    shown = page(report)
    assert "worker tcp://b lost at 5.5 s" in shown
    assert "<td>1,320</td><td>32</td>" in shown


def test_a_lost_worker_that_came_back_is_there_at_the_end(report):
    assert "<td>tcp://b</td><td>lost</td></tr>" in page(report)
    report.add(WorkersJoined(time_s=6.0, epoch=2, workers=("tcp://b",)))
    shown = page(report)
    assert "<td>tcp://b</td><td>there</td></tr>" in shown
    assert "<td>tcp://b</td><td>lost</td></tr>" not in shown


def test_workers_are_told_in_order_of_time_and_repeated_examples_add_up(report):
    report.add(
        WorkersRejoined(
            time_s=7.0, epoch=1, workers=("tcp://c", "tcp://d"), repeated_examples=48
        )
    )
    report.add(WorkersJoined(time_s=2.0, epoch=1, workers=("tcp://e",)))
    report.lost[0] = replace(report.lost[0], reason="its memory was full")
    rows = re.findall(r"<tr>(?:<td>[^<]*</td>){7}</tr>", _workers_part(page(report)))
    assert [re.findall(r"<td>([^<]*)</td>", row) for row in rows] == [
        ["tcp://e", "joined", "", "2.0 s", "1", "", ""],
        ["tcp://b", "lost", "its memory was full", "5.5 s", "2", "1,320", "32"],
        [
            "tcp://c, tcp://d",
            "all had gone; went on from a snapshot behind epoch 1",
            "",
            "7.0 s",
            "",
            "",
            "48",
        ],
    ]
    assert "80 examples were repeated in all" in page(report)


def _workers_part(shown):
    return shown.partition("Lost and joined workers")[2]


def test_a_run_without_losses_says_so(report):
    report.lost.clear()
    assert "No worker was lost" in page(report)


def test_the_matrix_tells_classes_and_shares_on_hover(report):
    assert "actual 0, predicted 1: 1 of 10 (10.0%)" in page(
        report, evaluation=evaluation()
    )


def test_many_classes_show_the_worst_confusions_only(report):
    shown = page(report, evaluation=evaluation(n_classes=50))
    assert "Most frequent confusions" in shown
    assert 'class="matrix"' not in shown


def test_metrics_have_four_digits(report):
    assert "<dd>0.9679</dd>" in page(report, evaluation=evaluation())


def test_a_fit_that_told_nothing_gives_a_page():
    assert "Nothing was measured" in page(FitReport())


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 87, [0, 20, 40, 60, 80, 100]),
        (0, 0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.1, 0.3, [0.1, 0.15, 0.2, 0.25, 0.3]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_ticks_are_round(low, high, ticks):
    assert nice_ticks(low, high) == ticks


def test_ticks_of_large_numbers_cover_the_range():
    ticks = nice_ticks(0, 123_456_789)
    assert ticks[-1] >= 123_456_789


def test_points_that_are_no_numbers_are_left_out():
    chart = Chart(
        points=[(0, 1.0), (1, float("nan")), (2, 3.0)], x_label="x", y_label="y"
    )
    assert line_chart(chart).count("<circle") == 2


def test_thousands_of_points_are_thinned():
    chart = Chart(points=[(x, 1.0) for x in range(5000)], x_label="x", y_label="y")
    assert line_chart(chart).count("<circle") <= 400


def test_a_marker_beyond_the_points_stays_inside():
    chart = Chart(
        points=[(0, 1.0), (10, 2.0)],
        x_label="x",
        y_label="y",
        markers=[Marker(12, "late", "lost")],
    )
    assert 'class="lost" x1="830.0"' in line_chart(chart)
