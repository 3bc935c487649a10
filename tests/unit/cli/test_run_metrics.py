"""The metrics of a run."""

import io
import json

import pytest
from rich.console import Console

from daskdl.cli.run_metrics import (
    RunMetrics,
    in_words,
    size_in_words,
    without_nan,
    workers_in_words,
)

# What scripts read; further keys may come, none of these may go.
KEYS = {
    "accuracy",
    "loss",
    "examples",
    "skipped",
    "skipped_test",
    "examples_per_s",
    "wall_s",
    "workers",
    "repeated_examples",
    "bytes_sent",
    "lost_workers",
    "joined_workers",
    "model",
    "predictions",
    "best_epoch",
    "best_score",
    "ended_by",
}


def test_the_line_has_every_key():
    assert json.loads(RunMetrics().to_line()).keys() == KEYS


def test_the_line_is_one_line():
    assert "\n" not in RunMetrics(model="a\nb").to_line()


def test_a_score_that_is_no_number_is_null():
    assert json.loads(RunMetrics(loss=float("nan")).to_line())["loss"] is None


def test_the_table_leaves_out_what_was_not_measured():
    stream = io.StringIO()
    RunMetrics(accuracy=0.975, examples=10).print_table(Console(file=stream))
    names = [line.split("  ")[0] for line in stream.getvalue().splitlines()]
    assert names == ["accuracy", "examples", "wall time", "workers"]


def test_rows_that_were_left_out_are_told():
    stream = io.StringIO()
    RunMetrics(skipped=1200, skipped_test=3).print_table(Console(file=stream))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert [line for line in lines if "skipped" in line] == [
        ["skipped", "rows", "1,200"],
        ["skipped", "test", "rows", "3"],
    ]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((2, 0, 0), "2"),
        ((2, 1, 0), "2, 1 lost"),
        ((2, 0, 1), "2, 1 joined"),
        ((2, 5, 4), "2, 5 lost, 4 joined"),
    ],
)
def test_workers_are_told_with_those_that_went_and_came(numbers, words):
    assert workers_in_words(*numbers) == words


def test_a_long_path_stays_on_its_line_where_no_terminal_is():
    stream, path = io.StringIO(), "hdfs://nn/" + "a long name/" * 30
    RunMetrics(model=path).print_table(Console(file=stream, width=80))
    assert f"model      {path}\n" in stream.getvalue()


def test_a_long_path_is_whole_on_a_terminal():
    stream, path = io.StringIO(), "hdfs://nn/" + "a-long-name/" * 30
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)
    RunMetrics(model=path).print_table(console)
    assert path in stream.getvalue().replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 B"), (1500, "1.5 kB"), (2e6, "2.0 MB"), (3e12, "3.0 TB")],
)
def test_sizes_have_units(n_bytes, words):
    assert size_in_words(n_bytes) == words


def test_no_number_is_no_text():
    assert in_words(None) == ""


def test_what_json_cannot_hold_becomes_null_at_any_depth():
    assert without_nan({"a": [1.0, float("inf")], "b": (float("nan"),)}) == {
        "a": [1.0, None],
        "b": [None],
    }


def test_a_path_is_whole_on_a_narrow_terminal():
    text = io.StringIO()
    path = "/a/long/path/to/a/model.safetensors"
    RunMetrics(model=path).print_table(Console(file=text, width=20))
    assert path in "".join(line[10:].strip() for line in text.getvalue().splitlines())
