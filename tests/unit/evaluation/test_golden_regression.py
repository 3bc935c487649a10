"""`RegressionEvaluation` against what DL4J computed, printed and wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

from daskdl.dl4j.evaluation.reader import from_json
from daskdl.evaluation.regression import RegressionEvaluation

DATA = Path(__file__).parents[2] / "data" / "eval"
OPTIONS = {
    "float": {},
    "columns_float": {"n_columns": 3},
    "double": {},
    "columns_double": {"n_columns": 3},
    "names": {
        "column_names": [f"column_number_{i}" for i in range(3)],
        "precision": 3,
    },
    "mask_output": {"n_columns": 3},
    "mask_example": {"n_columns": 3},
    "time_series_mask": {},
    "constant_labels": {"n_columns": 1},
}
SPLIT = [name for name in OPTIONS if (DATA / f"regression_{name}_half0.json").exists()]
# After a merge DL4J's sum of the labels, and so its R², is wrong.
WRONG_AFTER_MERGE = ("r2", "averageR2", "metric_R2")


def text_of(name, suffix=""):
    return (DATA / f"regression_{name}{suffix}").read_text(encoding="utf-8")


def evaluated(name, rows=slice(None)):
    evaluation = RegressionEvaluation(**OPTIONS[name])
    with np.load(DATA / f"regression_{name}.npz") as file:
        mask = file.get("mask")
        mask = None if mask is None else mask[rows]
        evaluation.eval(file["labels"][rows], file["predictions"][rows], mask)
    return evaluation


def metrics_of(e):
    found = {
        "mse": e.mean_squared_error().tolist(),
        "mae": e.mean_absolute_error().tolist(),
        "rmse": e.root_mean_squared_error().tolist(),
        "rse": e.relative_squared_error().tolist(),
        "pc": e.pearson_correlation().tolist(),
        "r2": e.r_squared().tolist(),
    }
    return found | {f"metric_{m}": e.score_for_metric(m) for m in e.METRICS}


def assert_metrics(evaluation, expected, name, leave_out=()):
    # DL4J sums float32 arrays in float32.
    rel = 1e-5 if "float" in name else 1e-9
    for metric, value in metrics_of(evaluation).items():
        if metric in leave_out:
            continue
        golden = expected[metric]
        golden = (
            [float(v) for v in golden] if isinstance(golden, list) else float(golden)
        )
        assert value == pytest.approx(golden, rel=rel, nan_ok=True), metric


@pytest.mark.parametrize("name", OPTIONS)
def test_metrics_are_those_of_dl4j(name):
    golden = json.loads(text_of(name, "_metrics.json"))
    assert_metrics(evaluated(name), golden["metrics"], name)


@pytest.mark.parametrize("name", [name for name in OPTIONS if "float" not in name])
def test_report_is_that_of_dl4j(name):
    assert evaluated(name).stats() == text_of(name, "_stats.txt")


@pytest.mark.parametrize("name", OPTIONS)
def test_report_of_the_sums_of_dl4j_is_its_report(name):
    assert from_json(text_of(name, ".json")).stats() == text_of(name, "_stats.txt")


@pytest.mark.parametrize("name", OPTIONS)
def test_json_is_written_as_it_was_read_byte_for_byte(name):
    """The last digits of sums differ between ND4J and NumPy; the text does not."""
    text = text_of(name, ".json")
    assert from_json(text).to_json() == text


@pytest.mark.parametrize("name", OPTIONS)
def test_json_has_the_sums_of_dl4j(name):
    found = json.loads(evaluated(name).to_json())
    golden = json.loads(text_of(name, ".json"))
    assert list(found) == list(golden)
    for field, value in golden.items():
        if isinstance(value, dict):
            rel = 1e-5 if "float" in name else 1e-9
            data = pytest.approx(value.pop("data"), rel=rel)
            assert found[field].pop("data") == data, field
        assert found[field] == value, field


@pytest.mark.parametrize("name", SPLIT)
def test_merged_halves_equal_the_whole_also_in_r2_unlike_dl4j(name):
    golden = json.loads(text_of(name, "_metrics.json"))
    split = golden["split_at_row"]
    merged = evaluated(name, slice(split))
    merged.merge(evaluated(name, slice(split, None)))
    expected = golden["metrics_merged_halves"]
    assert_metrics(merged, expected, name, WRONG_AFTER_MERGE)
    assert_metrics(merged, golden["metrics"], name)


@pytest.mark.parametrize("name", SPLIT)
def test_merging_into_an_empty_evaluation_gives_the_other_unlike_dl4j(name):
    half = evaluated(name, slice(16, None))
    empty = half.new_instance()
    empty.merge(half)
    assert empty.stats() == half.stats()
    for metric, value in metrics_of(half).items():
        found = metrics_of(empty)[metric]
        assert found == pytest.approx(value, nan_ok=True), metric


@pytest.mark.parametrize("name", SPLIT)
def test_a_file_with_the_merge_defect_of_dl4j_is_read_with_the_right_r2(name):
    found = from_json(text_of(name, "_merged.json"))
    golden = json.loads(text_of(name, "_metrics.json"))
    assert_metrics(found, golden["metrics"], name)
