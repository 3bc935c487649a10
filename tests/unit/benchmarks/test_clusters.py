"""Rows of works on two workers, from turns that are easy to reckon with."""

from benchmarks.clusters import cluster_rows
from benchmarks.rounds import Contender, Measurement, Turn


def turn(wall_ms, cpu_ms=0.0, **facts):
    return [Turn(wall_ms, cpu_ms, 1, 1.5, facts)]


def scaling():
    """Two workers take 60 ms for 10 minibatches, one takes 40, two alone 50."""
    shared = {"minibatches": 10, "bytes": 20480.0}
    return Measurement(
        "scaling",
        "mlp",
        {
            Contender("daskdl", "one"): turn(
                40.0, 30.0, workers=1, training_s=0.03, **shared
            ),
            Contender("daskdl", "two"): turn(
                60.0, 90.0, workers=2, training_s=0.05, **shared
            ),
            Contender("daskdl", "control"): turn(
                50.0, 80.0, workers=2, training_s=0.04, minibatches=10
            ),
        },
    )


def rows(measurement):
    return {row.what: row for row in cluster_rows(measurement)}


def ratios(row):
    return {ratio.peer: ratio.ratio.median for ratio in row.ratios}


def test_two_workers_are_compared_with_one_and_with_two_that_share_nothing():
    row = rows(scaling())["mlp, whole fit"]
    assert row.ours.median == 6.0
    assert ratios(row) == {"one-worker": 1.5, "control-processes": 1.2}


def test_training_is_without_what_comes_before_and_after():
    assert rows(scaling())["mlp, training"].ours.median == 5.0


def test_cpu_time_is_of_a_minibatch_whoever_trained_it():
    row = rows(scaling())["mlp, CPU time"]
    assert row.ours.median == 4.5
    assert ratios(row) == {"one-worker": 1.5, "control-processes": 1.125}


def test_what_is_sent_is_of_a_minibatch_whoever_trained_it():
    assert rows(scaling())["mlp, sent"].ours.median == 1.0


def test_workers_are_no_others():
    assert {row.others for row in cluster_rows(scaling())} == {0.0}


def test_an_epoch_is_compared_with_a_scan():
    facts = {"bytes": 1e9, "loads": 1.0, "on_top_mib": 300.0, "training_s": 2.0}
    measurement = Measurement(
        "data",
        "epoch",
        {
            Contender("daskdl"): turn(4000.0, 2000.0, **facts),
            Contender("daskdl", "scan"): turn(1000.0, 1000.0, bytes=1e9),
        },
    )
    found = rows(measurement)
    assert ratios(found["epoch"]) == {"plain-scan": 2.0}
    assert ratios(found["whole fit"]) == {"plain-scan": 4.0}
    assert found["epoch, rate"].ours.median == 500.0
    assert found["loads of a part"].goal == 1.25


def test_a_job_is_compared_with_what_a_peer_says_it_took():
    measurement = Measurement(
        "job",
        "run",
        {
            Contender("daskdl"): turn(10_000.0, per_s=1000.0),
            Contender("daskdl", "dl4j-spark"): turn(
                90_000.0, per_s=250.0, whole_s=40.0
            ),
        },
    )
    found = rows(measurement)
    assert ratios(found["run, all"]) == {"dl4j-spark": 0.25}
    assert ratios(found["run, an example"]) == {"dl4j-spark": 0.25}


def test_without_ours_there_is_no_row():
    lone = Measurement("data", "epoch", {Contender("daskdl", "scan"): turn(1.0)})
    assert rows(lone) == {}
