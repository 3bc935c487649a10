"""Several runs as one."""

import math

import pytest

from benchmarks import table
from benchmarks.joined import joined, read_report
from benchmarks.ratios import Spread
from benchmarks.report import Failure, Report
from benchmarks.results import Limit, Row, row
from benchmarks.rounds import Pace
from tests.unit.benchmarks.made_up import FLOPS, lenet

MACHINE = {"cpu": "Abacus", "vectors": "avx2", "cores": 2, "system": "Linux 6"}
LSTM = Row("lstm", "fit", "ms", Spread.of([7.0]))
JAX_FAILED = Failure("jax", "died", "lstm", "fit")


def run(command, *rows, failures=()):
    return Report(
        command,
        ["torch"],
        1,
        "cpu",
        Pace(3, 0.1, 0.1),
        date="2026-01-01",
        machine=MACHINE,
        versions={"daskdl": {"numpy": "2.4"}},
        rows=list(rows),
        failures=list(failures),
        peaks={"Gflop/s": 100.0},
    )


@pytest.fixture
def first():
    measured = row(lenet(), ["torch"], "cpu", Limit("Gflop/s", FLOPS))
    return run("first", measured, LSTM, failures=[JAX_FAILED])


@pytest.fixture
def second():
    return run("second", Row("lstm", "fit", "ms", Spread.of([5.0])))


def test_the_last_row_of_a_work_counts(first, second):
    left = [row for report in joined([first, second]) for row in report.rows]
    assert [(row.case, row.ours.median) for row in left] == [
        ("lenet", 3.0),
        ("lstm", 5.0),
    ]


def test_rows_tell_their_run(first, second):
    assert [
        (row.case, row.run) for report in joined([first, second]) for row in report.rows
    ] == [("lenet", 1), ("lstm", 2)]


def test_one_run_has_no_number(first):
    (alone,) = joined([first])
    assert {row.run for row in alone.rows} == {0}


def test_a_run_of_which_nothing_is_left_is_gone(first):
    assert joined([run("older", LSTM), first]) == joined([first])


def test_what_was_measured_later_is_no_failure(first, second):
    assert [report.failures for report in joined([first, second])] == [[], []]


def test_a_failure_stays_where_nothing_came_later(first):
    assert joined([first])[0].failures == [JAX_FAILED]


def test_each_run_has_a_heading(first, second):
    lines = list(table.markdown(joined([first, second])))
    assert [line for line in lines if line.startswith("Run ")] == ["Run 1:", "Run 2:"]


def test_a_table_has_a_column_of_runs(first, second):
    lines = list(table.markdown(joined([first, second])))
    assert "| lstm fit | 5 ms | - | - | 2 |" in lines


def test_works_stand_in_their_order(first, second):
    lines = list(table.markdown(joined([second, first])))
    (lenet_at,) = (i for i, line in enumerate(lines) if line.startswith("| lenet"))
    (lstm_at,) = (i for i, line in enumerate(lines) if line.startswith("| lstm"))
    assert lenet_at < lstm_at


def test_what_is_written_is_read(first):
    read = read_report(first.to_json())
    assert (read.rows, read.failures, read.peaks) == (
        first.rows,
        first.failures,
        first.peaks,
    )


def test_a_read_run_looks_the_same(first):
    read = read_report(first.to_json())
    assert list(table.markdown([read])) == list(table.markdown([first]))


def test_what_is_no_number_is_read_as_none(first):
    first.rows.append(Row("memory", "mlp", "MiB", Spread.of([math.nan])))
    assert math.isnan(read_report(first.to_json()).rows[-1].ours.median)


def test_figures_of_another_version_are_refused():
    with pytest.raises(ValueError, match=r"schema must be 2, got 1\. Measure again"):
        read_report('{"schema": 1}')
