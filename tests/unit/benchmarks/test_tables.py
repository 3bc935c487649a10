"""What a report becomes: tables, a page, a picture, JSON."""

import io
import json
import math
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks import table
from benchmarks.page import with_table
from benchmarks.picture import svg
from benchmarks.ratios import Spread
from benchmarks.report import Failure, Report
from benchmarks.results import Limit, Row, row
from benchmarks.rounds import Pace
from tests.unit.benchmarks.made_up import FLOPS, lenet


@pytest.fixture
def report():
    made = Report(
        "python -m benchmarks lenet",
        ["torch"],
        1,
        "cpu",
        Pace(3, 0.1, 0.1),
        date="2026-01-01",
        machine={"cpu": "Abacus", "vectors": "avx2", "cores": 2, "system": "Linux 6"},
        versions={"daskdl": {"numpy": "2.4"}},
    )
    limit = Limit("Gflop/s", FLOPS)
    made.rows.append(row(lenet(), ["torch"], "cpu", limit))
    made.rows.append(Row("memory", "lenet", "MiB", Spread.of([123.4])))
    made.failures.append(Failure("jax", "said nothing"))
    made.measurements.append(lenet())
    return made


def lines(report):
    return list(table.markdown([report]))


def test_a_row_in_markdown(report):
    assert lines(report)[10] == (
        "| lenet fit | 3 ms "
        "| 0.50 (0.25-0.75)<br>reached: <= 0.5<br>4 ms channels_last<br>wall 0.50 "
        "| 0.50 (0.33-0.50)<br>reached: >= 0.5<br>of 0.0001 Gflop/s |"
    )


def test_each_kind_of_work_has_a_table(report):
    titles = [line for line in lines(report) if line.startswith("#")]
    assert titles == ["### Steps, inference, messages", "### Memory of a step"]


def test_a_table_has_no_columns_for_peers_that_were_not_timed(report):
    assert "| work | daskdl |" in lines(report)


def test_what_is_missing_is_told(report):
    assert lines(report)[-1] == "- Not measured: JAX: said nothing"


def test_the_heading_says_where_and_how(report):
    heading = "\n".join(report.heading())
    assert "2026-01-01, Abacus, avx2, 2 cores, Linux 6; numpy 2.4." in heading
    assert "`python -m benchmarks lenet`" in heading


def test_the_terminal_gets_the_same(report):
    written = io.StringIO()
    table.show(Console(width=120, file=written), [report])
    assert "0.50 (0.25-0.75)" in written.getvalue()


def test_a_page_keeps_what_stands_around_the_table():
    page = "a\n<!-- table -->\nold\n<!-- end of table -->\nb\n"
    assert with_table(page, ["new"]) == (
        "a\n<!-- table -->\n\nnew\n\n<!-- end of table -->\nb\n"
    )


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(ValueError, match="the page must contain <!-- table -->"):
        with_table("nothing", ["new"])


def test_the_picture_has_a_bar_for_each_ratio(report):
    picture = ElementTree.fromstring(svg([report]))
    bars = picture.findall("{http://www.w3.org/2000/svg}rect")
    # The first one is the background.
    assert len(bars) == 1 + 1


def test_json_has_every_turn(report):
    written = json.loads(report.to_json())
    assert written["turns"][0]["turns"][1] == {
        "wall_ms": 6.0,
        "cpu_ms": 3.0,
        "calls": 5,
        "others": 0.5,
        "facts": {},
    }


def test_json_knows_no_nan(report):
    report.rows.append(Row("memory", "mlp", "MiB", Spread.of([math.nan])))
    assert json.loads(report.to_json())["rows"][-1]["ours"]["median"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04567, "0.0457"), (1.0, "1"), (12.345, "12.3"), (1234.5, "1234")],
)
def test_figures_have_three_digits_that_count(value, text):
    assert table.figure(value) == text
