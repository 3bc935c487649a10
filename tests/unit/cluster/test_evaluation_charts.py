"""Charts of an evaluation: what is drawn, named and left out."""

import re

import numpy as np
import pytest

from daskdl.cluster.stats.evaluation_charts import (
    heat_map,
    precision_recall_figure,
    reliability_figure,
    roc_figure,
)
from daskdl.cluster.stats.report import EvaluationSummary, render_report
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from daskdl.nn.fitting.events import FitReport


def filled(evaluation, rng, n_classes=3, rows=200):
    classes = rng.integers(0, n_classes, rows)
    scores = rng.random((rows, n_classes)) + np.eye(n_classes)[classes]
    evaluation.eval(np.eye(n_classes)[classes], scores / scores.sum(1, keepdims=True))
    return evaluation


def lines(figure):
    return re.findall(r'<g class="series (s\d)">', figure)


@pytest.mark.parametrize("figure", [roc_figure, precision_recall_figure])
def test_a_class_is_a_line_with_its_area(rng, figure):
    evaluation = filled(ROCMultiClass(50), rng)
    drawn = figure(evaluation, ["cat", "dog", "cow"])
    assert lines(drawn) == ["s0", "s1", "s2"]
    areas = re.findall(r'<li class="s\d">(\w+) area (\d\.\d{4})</li>', drawn)
    mean = evaluation.auc if figure is roc_figure else evaluation.auprc
    assert areas == [
        (name, f"{mean(i):.4f}") for i, name in enumerate(["cat", "dog", "cow"])
    ]


def test_a_point_tells_its_threshold_on_hover():
    roc = ROC(2)
    roc.eval(np.array([[1.0], [0.0]]), np.array([[0.9], [0.1]]))
    title = "100.0% found at 0.0% false alarms, from 0.5 on"
    assert f"<title>{title}</title>" in roc_figure(roc)


def test_a_precision_tells_its_threshold_on_hover():
    roc = ROC(2)
    roc.eval(np.array([[1.0], [0.0]]), np.array([[0.9], [0.1]]))
    title = "100.0% found, 100.0% of the found are right, from 0.5 on"
    assert f"<title>{title}</title>" in precision_recall_figure(roc)


def test_names_are_escaped(rng):
    drawn = roc_figure(filled(ROCMultiClass(5), rng), ["<b>", "&", '"'])
    assert "<b>" not in drawn
    assert "&lt;b&gt; area" in drawn


def test_of_many_classes_the_worst_are_drawn(rng):
    evaluation = filled(ROCMultiClass(50), rng, n_classes=12, rows=600)
    drawn = roc_figure(evaluation)
    assert len(lines(drawn)) == 8
    assert "the 8 worst of 12" in drawn
    worst = sorted(range(12), key=evaluation.auc)[:8]
    names = re.findall(r'<li class="s\d">(\d+) area', drawn)
    assert names == [str(number) for number in sorted(worst)]


def test_a_class_that_never_came_is_left_out(rng):
    evaluation = ROCMultiClass(10)
    evaluation.eval(np.eye(3)[[0, 1, 0]], rng.random((3, 3)))
    assert re.findall(r'<li class="s\d">(\d) area', roc_figure(evaluation)) == [
        "0",
        "1",
    ]


@pytest.mark.parametrize(
    "figure",
    [
        roc_figure(ROC()),
        precision_recall_figure(ROCMultiClass(5)),
        reliability_figure(EvaluationCalibration()),
    ],
    ids=["roc", "precision_recall", "reliability"],
)
def test_without_data_the_figure_says_so(figure):
    assert "There are no examples of two classes." in figure


def test_points_that_fall_upon_each_other_are_drawn_once(rng):
    exact = filled(ROC(roc_remove_redundant_pts=False), rng, n_classes=2, rows=20_000)
    assert roc_figure(exact).count("<circle") < 1000


def test_a_reliability_diagram_has_a_dot_a_bin_and_its_error(rng):
    evaluation = filled(EvaluationCalibration(5, exclude_empty_bins=False), rng)
    drawn = reliability_figure(evaluation)
    n_bins = sum(
        np.isfinite(evaluation.reliability_diagram(i).mean_predicted_value).sum()
        for i in range(3)
    )
    assert drawn.count('class="dot"') == n_bins
    assert f"0 error {evaluation.expected_calibration_error(0):.4f}" in drawn


def test_a_heat_map_has_a_square_a_count_that_is_not_zero():
    drawn = heat_map(np.array([[9, 1], [0, 3]]), ["a", "b"])
    assert drawn.count("<rect") == 3
    assert "actual a, predicted b: 1 of 10 (10.0%)" in drawn
    assert drawn.count('class="wrong"') == 1


@pytest.mark.parametrize("n_classes", [0, 201])
def test_no_heat_map_of_squares_that_nobody_could_see(n_classes):
    assert heat_map(np.ones((n_classes, n_classes), int)) == ""


def test_the_page_shows_the_figures(rng):
    summary = EvaluationSummary(
        name="/data/test",
        metrics={},
        roc=filled(ROCMultiClass(50), rng),
        calibration=filled(EvaluationCalibration(), rng),
    )
    page = render_report(FitReport(), title="A run", summary={}, evaluation=summary)
    heads = re.findall("<figure><h3>(.*?)</h3>", page)
    assert heads == ["ROC", "Precision and recall", "Reliability"]


def test_a_page_of_many_classes_has_a_heat_map():
    summary = EvaluationSummary(
        name="/data/test", metrics={}, confusion=np.eye(60, dtype=int).tolist()
    )
    page = render_report(FitReport(), title="A run", summary={}, evaluation=summary)
    assert '<svg class="heat"' in page
