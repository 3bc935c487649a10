"""`RegressionEvaluation`: shapes, masks, refusals, files."""

import json
import math
import pickle

import numpy as np
import pytest

from daskdl.dl4j.evaluation.reader import from_json
from daskdl.errors import DataError, FormatError, OptionError, ShapeError
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.regression import RegressionEvaluation


@pytest.fixture
def batch(rng):
    labels = rng.standard_normal((40, 3))
    return labels, labels + 0.3 * rng.standard_normal((40, 3))


def evaluated(labels, predictions, mask=None, **options):
    evaluation = RegressionEvaluation(**options)
    evaluation.eval(labels, predictions, mask)
    return evaluation


def test_metrics_equal_their_definitions(batch):
    labels, predictions = batch
    evaluation = evaluated(labels, predictions)
    error = predictions - labels
    total = ((labels - labels.mean(axis=0)) ** 2).sum(axis=0)
    residual = (error**2).sum(axis=0)
    correlation = [np.corrcoef(labels[:, i], predictions[:, i])[0, 1] for i in range(3)]
    for found, expected in [
        (evaluation.mean_squared_error(), (error**2).mean(axis=0)),
        (evaluation.mean_absolute_error(), np.abs(error).mean(axis=0)),
        (evaluation.root_mean_squared_error(), np.sqrt((error**2).mean(axis=0))),
        (evaluation.relative_squared_error(), residual / total),
        (evaluation.pearson_correlation(), correlation),
        (evaluation.r_squared(), 1 - residual / total),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_batches_add_up(batch):
    labels, predictions = batch
    evaluation = RegressionEvaluation()
    for rows in (slice(7), slice(7, 30), slice(30, None)):
        evaluation.eval(labels[rows], predictions[rows])
    assert evaluation.stats() == evaluated(labels, predictions).stats()


def test_a_column_that_is_masked_whole_has_no_mean(batch):
    labels, predictions = batch
    mask = np.ones((40, 3))
    mask[:, 1] = 0
    predictions[5, 1] = np.nan
    evaluation = evaluated(labels, predictions, mask)
    assert evaluation.example_count.tolist() == [40, 0, 40]
    assert math.isnan(evaluation.mean_squared_error()[1])


def test_a_batch_that_is_masked_whole_counts_nothing(batch):
    assert evaluated(*batch, np.zeros(40)).example_count.tolist() == [0, 0, 0]


def test_without_data():
    evaluation = RegressionEvaluation()
    assert evaluation.stats() == "RegressionEvaluation: No Data"
    assert evaluation.n_columns == 0
    assert math.isnan(evaluation.score_for_metric("mse"))
    assert from_json(evaluation.to_json()).stats() == evaluation.stats()


def test_merging_takes_over_names_and_leaves_the_other_alone(batch):
    other = evaluated(*batch, column_names=["a", "b", "c"])
    before = other.to_json()
    evaluation = RegressionEvaluation()
    evaluation.merge(other)
    evaluation.merge(other)
    assert evaluation.column_names == ["a", "b", "c"]
    assert evaluation.example_count.tolist() == [80, 80, 80]
    assert other.to_json() == before


def test_merging_an_empty_evaluation_changes_nothing(batch):
    evaluation = evaluated(*batch)
    before = evaluation.to_json()
    evaluation.merge(RegressionEvaluation())
    assert evaluation.to_json() == before


def test_report_rounds_half_up_as_java():
    evaluation = evaluated(np.zeros((1, 1)), np.full((1, 1), 0.125), precision=1)
    assert "1.3e-01" in evaluation.stats()


def test_pickle_keeps_everything(batch):
    evaluation = evaluated(*batch)
    assert pickle.loads(pickle.dumps(evaluation)).to_json() == evaluation.to_json()


def test_plain_lists_of_before_beta3_are_read(batch):
    text = evaluated(*batch).to_json()
    fields = json.loads(text)
    old = {
        name: value["data"] if isinstance(value, dict) else value
        for name, value in fields.items()
    }
    old["@class"] = "org.deeplearning4j.eval.RegressionEvaluation"
    assert from_json(json.dumps(old)).to_json() == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_columns": 0}, "n_columns must be >= 1, got 0"),
        ({"precision": -1}, "precision must be >= 0, got -1"),
        ({"axis": 0}, "axis must be >= 1, got 0"),
        ({"n_columns": 2, "column_names": ["a"]}, "must name 2 columns, got 1"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        RegressionEvaluation(**options)


def test_another_number_of_columns_is_refused(batch):
    with pytest.raises(ShapeError, match="labels must have 2 columns, got 3"):
        evaluated(*batch, n_columns=2)


def test_nan_is_refused(batch):
    labels, predictions = batch
    labels[3, 2] = np.nan
    with pytest.raises(DataError, match="RegressionEvaluation: labels must be numbers"):
        evaluated(labels, predictions)


def test_merging_another_class_is_refused():
    with pytest.raises(OptionError, match="only another RegressionEvaluation"):
        RegressionEvaluation().merge(Evaluation())


TEXT = evaluated(np.zeros((2, 1)), np.ones((2, 1))).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text must be JSON"),
        (TEXT.replace('"sumOfProducts"', '"x"'), "sumOfProducts must be an array like"),
        (
            TEXT.replace('"precision" : 5', '"precision" : -5'),
            "precision must be a whole number from 0 to 1000, got -5",
        ),
        (
            TEXT.replace('"shape" : [ 1 ]', '"shape" : [ 2 ]'),
            "data go together, got dict of 3",
        ),
        (TEXT.replace('[ "col_0" ]', '[ "a", "b" ]'), r"each of 2 columns, got sizes"),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FormatError, match=message):
        RegressionEvaluation.from_json(text)
