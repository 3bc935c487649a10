"""The report of a fit, as plain values and back."""

import json
from dataclasses import asdict

import pytest

from daskdl.nn.fitting.events import (
    CheckpointFailed,
    EpochFinished,
    FitReport,
    FitStarted,
    Progress,
    ResidualMeasured,
    Staleness,
    WorkerLeftOut,
    WorkerLost,
    WorkersJoined,
    WorkersRejoined,
)

WORKERS = ("tcp://a", "tcp://b")
WHEN = {"time_s": 1.0}
EVENTS = (
    FitStarted(epochs=2, workers=WORKERS),
    Progress(
        **WHEN,
        epoch=1,
        examples=8,
        iteration=2,
        score=0.5,
        examples_per_s=8.0,
        workers=2,
        bytes_sent=3,
    ),
    ResidualMeasured(
        **WHEN,
        worker="tcp://a",
        iteration=2,
        length=8,
        threshold=0.5,
        reached=1,
        sparsity=0.125,
        mean=0.1,
        largest=0.7,
        percentiles={"50": 0.1},
    ),
    EpochFinished(
        **WHEN, epoch=1, examples=8, score=0.5, wall_s=1.0, workers=2, values={"f": 1.0}
    ),
    WorkerLost(
        **WHEN, epoch=1, worker="tcp://a", redealt_examples=4, repeated_examples=2
    ),
    WorkerLeftOut(**WHEN, worker="tcp://c", reason="it is paused"),
    WorkersRejoined(**WHEN, epoch=1, workers=WORKERS, repeated_examples=3),
    WorkersJoined(time_s=0.5, epoch=1, workers=("tcp://d",)),
    CheckpointFailed(**WHEN, epoch=1, reason="disk full"),
)


def test_a_report_comes_back_from_plain_values():
    report = FitReport(staleness=Staleness(mean=0.5, most=2))
    for event in EVENTS:
        report.add(event)
    back = FitReport.from_dict(json.loads(json.dumps(asdict(report))))
    assert back == report
    assert back.repeated_examples == 5


def test_a_report_of_an_earlier_version_comes_back():
    values = asdict(FitReport())
    del values["joined"]
    assert FitReport.from_dict(values) == FitReport()


def lost(worker, time_s):
    return WorkerLost(
        time_s=time_s, epoch=1, worker=worker, redealt_examples=0, repeated_examples=0
    )


def test_workers_that_went_are_told_in_order_of_time():
    report = FitReport(lost=[lost("tcp://b", 2.0), lost("tcp://a", 1.0)])
    assert report.lost_workers == ("tcp://a", "tcp://b")


@pytest.mark.parametrize(
    ("came_s", "missing"), [(2.0, {"tcp://b"}), (0.5, {"tcp://a", "tcp://b"})]
)
@pytest.mark.parametrize("kind", ["joined", "rejoined"])
def test_a_worker_that_came_back_is_not_missing(kind, came_s, missing):
    when = {"time_s": came_s, "epoch": 1, "workers": ("tcp://a",)}
    came = {
        "joined": WorkersJoined(**when),
        "rejoined": WorkersRejoined(**when, repeated_examples=0),
    }
    report = FitReport(lost=[lost("tcp://b", 3.0), lost("tcp://a", 1.0)])
    report.add(came[kind])
    assert report.missing_workers == missing


def test_an_event_of_each_kind_is_kept():
    report = FitReport()
    for event in EVENTS:
        report.add(event)
    assert report.joined_workers == ("tcp://d", *WORKERS)
    kept = [value for value in vars(report).values() if isinstance(value, list)]
    assert [len(each) for each in kept] == [1] * len(kept)
