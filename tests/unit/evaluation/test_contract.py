"""What every evaluation keeps to: merging, copying, files, metrics, refusals."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from daskdl.dl4j.evaluation.reader import from_json
from daskdl.errors import (
    DataError,
    FormatError,
    OptionError,
    OutputExistsError,
    ShapeError,
)
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from tests.dialects import DL4J

DATA = Path(__file__).parents[2] / "data" / "eval"

# Each made anew, with the columns that its data have.
EVALUATIONS = {
    "Evaluation": (lambda: Evaluation(top_n=2), 3),
    "Evaluation of one column": (lambda: Evaluation(), 1),
    "EvaluationBinary": (lambda: EvaluationBinary(roc_binary_steps=8), 3),
    "ROC": (lambda: ROC(16), 2),
    "ROC exact": (lambda: ROC(roc_remove_redundant_pts=False), 1),
    "ROCBinary": (lambda: ROCBinary(16), 3),
    "ROCBinary exact": (lambda: ROCBinary(roc_remove_redundant_pts=False), 3),
    "ROCMultiClass": (lambda: ROCMultiClass(16), 3),
    "EvaluationCalibration": (lambda: EvaluationCalibration(8, 8), 3),
    "RegressionEvaluation": (lambda: RegressionEvaluation(), 3),
}
every_evaluation = pytest.mark.parametrize("name", EVALUATIONS)


@pytest.fixture
def batch(name, rng):
    """Labels and predictions whose sums are exact, so that any order gives one text."""
    n_columns = EVALUATIONS[name][1]
    labels = rng.integers(0, 2, (24, n_columns)).astype(np.float64)
    if n_columns > 1:
        labels = np.eye(n_columns)[rng.integers(0, n_columns, 24)]
    # Different multiples of 1/128: there are no ties, whose order would count.
    predictions = rng.permutation(24 * n_columns).reshape(24, n_columns) / 128 + 1 / 256
    return labels, predictions


def filled(name, batch, rows=slice(None)):
    evaluation = EVALUATIONS[name][0]()
    labels, predictions = batch
    evaluation.eval(labels[rows], predictions[rows])
    return evaluation


def assert_same(found, expected):
    """Compare texts up to the last digits of sums."""
    numbers = r"-?\d+\.\d+(?:E-?\d+)?"
    assert re.sub(numbers, "?", found) == re.sub(numbers, "?", expected)
    ours, theirs = (re.findall(numbers, text) for text in (found, expected))
    assert list(map(float, ours)) == pytest.approx(list(map(float, theirs)))


@every_evaluation
def test_merged_parts_are_the_whole(name, batch):
    parts = [filled(name, batch, slice(start, start + 8)) for start in (0, 8, 16)]
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    assert_same(parts[0].to_json(), filled(name, batch).to_json())


@every_evaluation
def test_merging_is_associative_and_takes_any_order(name, batch):
    a, b, c = (filled(name, batch, slice(start, start + 8)) for start in (0, 8, 16))
    b.merge(a)
    c.merge(b)
    assert_same(c.to_json(), filled(name, batch).to_json())


@every_evaluation
def test_merging_does_not_change_the_other(name, batch):
    other = filled(name, batch, slice(8))
    before = other.to_json()
    merged = EVALUATIONS[name][0]()
    merged.merge(other)
    merged.merge(filled(name, batch, slice(8, None)))
    labels, predictions = batch
    merged.eval(labels, predictions)
    assert other.to_json() == before


@every_evaluation
def test_merging_an_empty_one_changes_nothing(name, batch):
    evaluation = filled(name, batch)
    before = evaluation.to_json()
    evaluation.merge(evaluation.new_instance())
    assert evaluation.to_json() == before


@every_evaluation
def test_merging_another_class_is_refused(name, batch):
    other = ROC() if "Regression" in name else RegressionEvaluation()
    with pytest.raises(OptionError, match=r"only another .* can be merged, got"):
        filled(name, batch).merge(other)


# A ROC of two columns is one of the second.
@pytest.mark.parametrize("name", sorted(EVALUATIONS.keys() - {"ROC", "ROC exact"}))
def test_merging_another_number_of_columns_is_refused(name, batch):
    labels, predictions = (np.repeat(array, 4, axis=1) for array in batch)
    other = EVALUATIONS[name][0]()
    other.eval(labels, predictions)
    with pytest.raises(ShapeError, match="must have"):
        filled(name, batch).merge(other)


@every_evaluation
def test_a_new_instance_has_the_options_and_no_data(name, batch):
    empty = filled(name, batch).new_instance()
    assert empty.to_json() == EVALUATIONS[name][0]().to_json()


@every_evaluation
def test_pickle_keeps_everything(name, batch):
    evaluation = filled(name, batch)
    copy = pickle.loads(pickle.dumps(evaluation))
    assert copy.to_json() == evaluation.to_json()
    copy.merge(evaluation)
    copy.eval(*batch)


@every_evaluation
def test_json_is_read_and_written_unchanged(name, batch):
    evaluation = filled(name, batch)
    text = evaluation.to_json()
    assert from_json(text).to_json() == text
    assert from_json(text).stats() == evaluation.stats()


@every_evaluation
@pytest.mark.parametrize("place", ["{folder}/a.json", "memory://evaluations/a.json"])
def test_files_on_any_store_are_read_and_written(name, batch, tmp_path, place):
    evaluation = filled(name, batch)
    url = place.format(folder=tmp_path)
    evaluation.save(url, overwrite=True)
    found = type(evaluation).load(url)
    assert (type(found), found.to_json()) == (type(evaluation), evaluation.to_json())


def test_a_file_that_is_there_stays(tmp_path):
    Evaluation(labels=["a", "b"]).save(tmp_path / "a.json")
    with pytest.raises(OutputExistsError, match=r"must not exist yet"):
        ROC().save(tmp_path / "a.json")
    assert Evaluation.load(tmp_path / "a.json").labels == ["a", "b"]


def test_a_file_of_another_class_is_refused_with_its_path(tmp_path):
    ROC().save(tmp_path / "a.json")
    with pytest.raises(FormatError, match=r"a\.json: .*ROC"):
        Evaluation.load(tmp_path / "a.json")


@every_evaluation
def test_json_without_data_is_read(name):
    text = EVALUATIONS[name][0]().to_json()
    assert from_json(text).to_json() == text


@every_evaluation
def test_what_was_read_counts_on(name, batch):
    found = from_json(filled(name, batch, slice(8)).to_json())
    labels, predictions = batch
    found.eval(labels[8:], predictions[8:])
    assert_same(found.to_json(), filled(name, batch).to_json())


@every_evaluation
def test_json_of_before_beta3_is_read(name, batch):
    text = filled(name, batch).to_json()
    old = text.replace("org.nd4j.evaluation.classification", "org.deeplearning4j.eval")
    old = old.replace("org.nd4j.evaluation.regression", "org.deeplearning4j.eval")
    old = old.replace("org.nd4j.evaluation.curves", "org.deeplearning4j.eval.curves")
    assert from_json(old).to_json() == text


@every_evaluation
def test_every_metric_is_a_number(name, batch):
    evaluation = filled(name, batch)
    scores = [evaluation.score_for_metric(m.lower()) for m in evaluation.METRICS]
    assert all(type(score) is float for score in scores)


@every_evaluation
def test_an_unknown_metric_is_refused(name, batch):
    with pytest.raises(OptionError, match=r"metric.*got 'LIFT'"):
        filled(name, batch).score_for_metric("LIFT")


@every_evaluation
def test_nan_is_refused(name, batch):
    labels, predictions = batch
    predictions[3, 0] = np.nan
    with pytest.raises(DataError, match=r"predictions must be numbers, got 1 NaN"):
        EVALUATIONS[name][0]().eval(labels, predictions)


@every_evaluation
def test_nan_that_a_mask_drops_does_not_count(name, batch):
    labels, predictions = batch
    predictions[3] = np.nan
    mask = np.ones(24)
    mask[3] = 0
    evaluation = EVALUATIONS[name][0]()
    evaluation.eval(labels, predictions, mask)
    kept = EVALUATIONS[name][0]()
    kept.eval(*(np.delete(array, 3, axis=0) for array in batch))
    assert evaluation.to_json() == kept.to_json()


@every_evaluation
def test_time_steps_are_rows(name, batch):
    labels, predictions = (
        array.reshape(6, 4, -1).transpose(0, 2, 1) for array in batch
    )
    evaluation = EVALUATIONS[name][0]()
    evaluation.eval(labels, predictions)
    assert_same(evaluation.to_json(), filled(name, batch).to_json())


@every_evaluation
def test_a_batch_of_which_a_mask_drops_everything_counts_nothing(name, batch):
    evaluation = filled(name, batch)
    before = evaluation.to_json()
    evaluation.eval(*batch, np.zeros(24))
    assert evaluation.to_json() == before


@every_evaluation
def test_the_report_is_also_its_repr(name, batch):
    evaluation = filled(name, batch)
    assert repr(evaluation) == evaluation.stats()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("roc_ties_exact", lambda: ROC(dialect=DL4J)),
        ("roc_steps10", lambda: ROC(10, dialect=DL4J)),
        ("rocbinary_mask", lambda: ROCBinary(dialect=DL4J)),
        ("rocmulticlass_steps10", lambda: ROCMultiClass(10, dialect=DL4J)),
        ("evaluationbinary_roc", lambda: EvaluationBinary(3, roc_binary_steps=10)),
        ("calibration_mask", lambda: EvaluationCalibration(10, 10)),
    ],
)
def test_json_and_report_are_those_of_dl4j_byte_for_byte(name, make):
    """One case of each class; tests/golden has them all."""
    evaluation = make()
    with np.load(DATA / f"{name}.npz") as file:
        evaluation.eval(file["labels"], file["predictions"], file.get("mask"))
    text = (DATA / f"{name}.json").read_bytes().decode()
    assert evaluation.to_json() == text
    assert from_json(text).to_json() == text
    assert evaluation.stats() == (DATA / f"{name}_stats.txt").read_text()


def test_an_unknown_class_is_refused():
    with pytest.raises(FormatError, match=r"@class must be one of .*, got 'x\.Custom'"):
        from_json('{"@class": "x.Custom"}')
