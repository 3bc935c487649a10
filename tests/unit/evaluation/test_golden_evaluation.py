"""`Evaluation` against what DL4J computed, printed and wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

from daskdl.dl4j.evaluation.reader import from_json
from daskdl.evaluation.evaluation import Evaluation
from tests.dialects import DL4J

DATA = Path(__file__).parents[2] / "data" / "eval"
OPTIONS = {
    "multiclass": {},
    "labels_top2": {"labels": ["class_A", "class_B", "class_C"], "top_n": 2},
    "two_classes": {},
    "two_classes_pos0": {"n_classes": 2, "binary_positive_class": 0},
    "two_classes_threshold": {"binary_decision_threshold": 0.3},
    "one_column": {},
    "one_column_threshold": {"binary_decision_threshold": 0.7},
    "cost_array": {"cost_array": [1.0, 1.5, 2.0]},
    "never_predicted": {"n_classes": 3},
    "mask": {},
    "time_series": {},
    "time_series_mask": {},
    "cnn": {},
    "23_classes": {},
}
# Beyond 16 classes the order in DL4J's text follows that of the examples.
SAME_BYTES = [name for name in OPTIONS if name != "23_classes"]
SPLIT = [name for name in OPTIONS if (DATA / f"evaluation_{name}_half0.json").exists()]


def text_of(name, suffix=""):
    return (DATA / f"evaluation_{name}{suffix}").read_text(encoding="utf-8")


def arrays_of(name):
    with np.load(DATA / f"evaluation_{name}.npz") as file:
        return file["labels"], file["predictions"], file.get("mask")


def evaluated(name, rows=slice(None)):
    evaluation = Evaluation(**OPTIONS[name], dialect=DL4J)
    labels, predictions, mask = arrays_of(name)
    mask = None if mask is None else mask[rows]
    evaluation.eval(labels[rows], predictions[rows], mask)
    return evaluation


def metrics_of(e):
    """The numbers under the names that the generator of the golden files gave them."""
    classes = range(e.n_classes)
    found = {
        "accuracy": e.accuracy(),
        "precision": e.precision(),
        "recall": e.recall(),
        "f1": e.f1(),
        "mcc": e.matthews_correlation(),
        "gMeasure": e.g_measure(),
        "topNAccuracy": e.top_n_accuracy(),
        "falseAlarmRate": e.false_alarm_rate(),
        "fpr": e.false_positive_rate(),
        "fnr": e.false_negative_rate(),
        "precision_class": [e.precision(i) for i in classes],
        "recall_class": [e.recall(i) for i in classes],
        "f1_class": [e.f1(i) for i in classes],
        "fpr_class": [e.false_positive_rate(i) for i in classes],
        "fnr_class": [e.false_negative_rate(i) for i in classes],
        "mcc_class": [e.matthews_correlation(i) for i in classes],
        "gMeasure_class": [e.g_measure(i) for i in classes],
        "numRowCounter": e.num_examples,
        "averagePrecisionNumClassesExcluded": e.n_classes_excluded("precision"),
        "averageRecallNumClassesExcluded": e.n_classes_excluded("recall"),
        "averageF1NumClassesExcluded": e.n_classes_excluded("f1"),
    }
    for averaging in ("macro", "micro"):
        suffix = averaging.capitalize()
        found |= {
            f"precision_{suffix}": e.precision(averaging=averaging),
            f"recall_{suffix}": e.recall(averaging=averaging),
            f"f1_{suffix}": e.f1(averaging=averaging),
            f"fBeta2_{suffix}": e.f_beta(2.0, averaging=averaging),
            f"mcc_{suffix}": e.matthews_correlation(averaging=averaging),
            f"gMeasure_{suffix}": e.g_measure(averaging=averaging),
        }
    return found | {f"metric_{m}": e.score_for_metric(m) for m in e.METRICS}


def numbers(values):
    """Replace the words that stand for numbers that JSON lacks."""
    if isinstance(values, dict):
        texts = ("confusion_csv", "confusionToString")
        return {k: numbers(v) for k, v in values.items() if k not in texts}
    if isinstance(values, list):
        return [numbers(value) for value in values]
    return float(values)


def assert_metrics(evaluation, expected):
    expected = numbers(expected)
    found = numbers(metrics_of(evaluation))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12, nan_ok=True), name


@pytest.mark.parametrize("name", OPTIONS)
def test_metrics_are_those_of_dl4j(name):
    golden = json.loads(text_of(name, "_metrics.json"))
    assert_metrics(evaluated(name), golden["metrics"])


@pytest.mark.parametrize("name", OPTIONS)
def test_report_is_that_of_dl4j(name):
    assert evaluated(name).stats() == text_of(name, "_stats.txt")


@pytest.mark.parametrize("name", OPTIONS)
def test_named_confusion_matrix_is_that_of_dl4j(name):
    golden = json.loads(text_of(name, "_metrics.json"))
    expected = golden["metrics"]["confusionToString"]
    assert evaluated(name).confusion_to_string() == expected


@pytest.mark.parametrize("name", SAME_BYTES)
def test_json_is_that_of_dl4j_byte_for_byte(name):
    assert evaluated(name).to_json() == text_of(name, ".json")


@pytest.mark.parametrize("name", sorted(set(SPLIT) & set(SAME_BYTES)))
def test_json_of_a_part_is_that_of_dl4j_byte_for_byte(name):
    """Parts lack classes, so their files have empty rows and counters."""
    assert evaluated(name, slice(16)).to_json() == text_of(name, "_half0.json")


def sorted_cells(text):
    found = json.loads(text)
    for row, (predicted, counts) in found["confusion"]["matrix"].items():
        found["confusion"]["matrix"][row] = sorted(zip(predicted, counts, strict=True))
    return found


def test_json_beyond_16_classes_differs_from_dl4j_in_order_only():
    assert sorted_cells(evaluated("23_classes").to_json()) == sorted_cells(
        text_of("23_classes", ".json")
    )


@pytest.mark.parametrize("path", sorted(DATA.glob("evaluation_*.json")), ids=str)
def test_every_file_of_dl4j_is_read(path):
    if path.name.endswith("_metrics.json"):
        return
    text = path.read_text()
    found = from_json(text)
    assert isinstance(found, Evaluation)
    assert sorted_cells(found.to_json()) == sorted_cells(text)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_evaluation_read_from_a_file_gives_the_same_metrics(name):
    golden = json.loads(text_of(name, "_metrics.json"))
    assert_metrics(from_json(text_of(name, ".json")), golden["metrics"])


@pytest.mark.parametrize("name", SPLIT)
def test_merged_halves_equal_the_whole(name):
    golden = json.loads(text_of(name, "_metrics.json"))
    split = golden["split_at_row"]
    merged = evaluated(name, slice(split))
    merged.merge(evaluated(name, slice(split, None)))
    assert_metrics(merged, golden["metrics_merged_halves"])
    assert merged.to_json() == evaluated(name).to_json()


@pytest.mark.parametrize("name", SPLIT)
def test_merging_into_an_empty_evaluation_gives_the_other(name):
    """DL4J fails on this with a cost array."""
    golden = json.loads(text_of(name, "_metrics.json"))
    half = evaluated(name, slice(golden["split_at_row"], None))
    empty = half.new_instance()
    empty.merge(half)
    assert empty.to_json() == half.to_json()
    if "metrics_empty_merged_with_half1" in golden:
        assert_metrics(empty, golden["metrics_empty_merged_with_half1"])
