"""A curve holds as many events of a fit of days as of one of hours."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from daskdl.nn.fitting.curve import Curve
from daskdl.nn.fitting.events import FitReport, Progress


def test_all_events_are_there_while_they_are_few():
    curve = Curve([7])
    for number in range(3000):
        curve.append(number)
    assert curve == [7, *range(3000)]


@pytest.mark.parametrize("n", [5000, 100_000, 1_000_000])
def test_events_of_the_whole_fit_are_about_as_far_apart(n):
    curve = Curve()
    for number in range(n):
        curve.append(number)
    assert 1900 < len(curve) < 4000
    apart = np.diff([*curve, n])
    assert apart.max() < 3 * np.median(apart)


def test_none_of_several_that_tell_in_turn_is_left_out():
    curve = Curve()
    for number in range(100_000):
        curve.append(number % 2)
    assert set(curve[-100:]) == {0, 1}


def test_a_report_holds_a_curve_also_where_it_was_stored():
    report = FitReport()
    for number in range(10_000):
        values = dict.fromkeys(("time_s", "score", "examples_per_s"), 0.5)
        counts = dict.fromkeys(("epoch", "examples", "workers", "bytes_sent"), 1)
        report.add(Progress(iteration=number, **values, **counts))
    again = FitReport.from_dict(json.loads(json.dumps(asdict(report))))
    assert again == report
    assert isinstance(again.progress, Curve)
    assert len(again.progress) < 4000
