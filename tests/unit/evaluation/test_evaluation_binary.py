"""`EvaluationBinary`: rates of each output, thresholds, masks, its ROC."""

import math

import numpy as np
import pytest

from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.evaluation_binary import EvaluationBinary

# Output 0 has each outcome once; nothing is predicted of output 1; output 2 is right.
LABELS = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]], float)
PREDICTIONS = np.array([[0.9, 0.1, 0.9], [0.6, 0.2, 0.1], [0.4, 0.5, 0.8], [0, 0, 0]])


def filled(*options, mask=None, **named):
    evaluation = EvaluationBinary(*options, **named)
    evaluation.eval(LABELS, PREDICTIONS, mask)
    return evaluation


def test_counts():
    counts = filled().counts
    assert counts.true_positives.tolist() == [1, 0, 2]
    assert counts.false_positives.tolist() == [1, 0, 0]
    assert counts.false_negatives.tolist() == [1, 2, 0]
    assert counts.true_negatives.tolist() == [1, 2, 2]
    assert filled().total_count.tolist() == [4, 4, 4]


def test_labels_above_one_half_are_positive():
    """DL4J multiplies by them, and cuts the sums to whole counts."""
    soft = EvaluationBinary()
    soft.eval(LABELS * 0.4 + 0.3, PREDICTIONS)
    assert soft.counts.true_positives.tolist() == [1, 0, 2]


def test_rates():
    evaluation = filled()
    assert evaluation.accuracy().tolist() == [0.5, 0.5, 1.0]
    assert evaluation.recall().tolist() == [0.5, 0.0, 1.0]
    assert evaluation.false_positive_rate().tolist() == [0.5, 0.0, 0.0]
    assert evaluation.false_negative_rate().tolist() == [0.5, 1.0, 0.0]
    assert evaluation.false_alarm_rate().tolist() == [0.5, 0.5, 0.0]
    assert evaluation.matthews_correlation()[[0, 2]].tolist() == [0.0, 1.0]


def test_what_was_never_predicted_has_no_precision_but_an_f1_as_in_dl4j():
    evaluation = filled()
    assert math.isnan(evaluation.precision()[1])
    assert math.isnan(evaluation.g_measure()[1])
    assert evaluation.f1().tolist() == [0.5, 0.0, 1.0]
    assert evaluation.f_beta(2.0).tolist() == [0.5, 0.0, 1.0]


def test_scores_of_an_output_and_means():
    evaluation = filled()
    assert evaluation.score_for_metric("accuracy") == pytest.approx(2 / 3)
    assert evaluation.score_for_metric("FAR", 1) == 0.5
    assert math.isnan(evaluation.score_for_metric("PRECISION"))


def test_no_score_of_an_output_that_is_not_there():
    with pytest.raises(
        OptionError, match="output must be a whole number from 0 to 2, got 3"
    ):
        filled().score_for_metric("F1", 3)


def test_thresholds_of_outputs():
    evaluation = filled(decision_threshold=[0.5, 0.15, 0.85])
    assert evaluation.counts.true_positives.tolist() == [1, 1, 1]


def test_a_probability_at_its_threshold_is_not_above_it():
    evaluation = EvaluationBinary(decision_threshold=[0.3])
    evaluation.eval(np.ones((1, 1), np.float32), np.full((1, 1), 0.3, np.float32))
    assert evaluation.counts.false_negatives.tolist() == [1]


def test_thresholds_of_a_float64_array_stay_what_they_are():
    thresholds = np.array([0.3, 0.3, 0.3])
    text = filled(decision_threshold=thresholds).to_json()
    assert EvaluationBinary.from_json(text).decision_threshold.dtype == np.float64


@pytest.mark.parametrize("thresholds", [[-0.1], [1.1], [[0.5]], [math.nan]])
def test_impossible_thresholds_are_refused(thresholds):
    with pytest.raises(OptionError, match="a row of numbers from 0 to 1, got"):
        EvaluationBinary(decision_threshold=thresholds)


def test_a_mask_of_one_value_an_output_drops_it():
    mask = np.array([[1, 0, 1], [1, 0, 1], [0, 0, 1], [0, 1, 1]])
    evaluation = filled(mask=mask, roc_binary_steps=4)
    assert evaluation.total_count.tolist() == [2, 1, 4]
    roc = evaluation.roc_binary
    assert [part.example_count for part in roc.rocs] == [2, 1, 4]


def test_per_output_masks_of_time_series():
    shape = (2, 3, 2)
    labels, predictions = (
        array.reshape(2, 2, 3).transpose(0, 2, 1) for array in (LABELS, PREDICTIONS)
    )
    evaluation = EvaluationBinary()
    evaluation.eval(labels, predictions, np.ones(shape))
    assert evaluation.to_json() == filled().to_json()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_outputs": 2}, "labels must have 2 outputs, got 3"),
        (
            {"decision_threshold": [0.5]},
            "1 outputs, one an entry of decision_threshold",
        ),
        ({"labels": ["a", "b"]}, "2 outputs, one an entry of labels, got 3"),
    ],
)
def test_another_number_of_outputs_is_refused(options, message):
    with pytest.raises(ShapeError, match=f"EvaluationBinary: .*{message}"):
        filled(**options)


def test_no_outputs_are_refused():
    with pytest.raises(
        OptionError, match="n_outputs must be a whole number > 0, got 0"
    ):
        EvaluationBinary(0)


def test_a_roc_of_a_part_of_the_data_is_refused():
    with pytest.raises(OptionError, match="both must have a roc_binary or none"):
        filled().merge(filled(roc_binary_steps=10))


def test_the_report_with_other_digits_and_a_roc():
    report = filled(roc_binary_steps=10, labels=list("abc")).stats(precision=2)
    head, first, second, _ = (" ".join(line.split()) for line in report.split("\n"))
    assert head == "Label Accuracy F1 Precision Recall Total TP TN FP FN AUC"
    assert first == "a 0.50 0.50 0.50 0.50 4 1 1 1 1 0.75"
    assert second.startswith("b 0.50 0.00 NaN 0.00 4 0 2 0 2 ")


def test_the_report_without_data():
    assert EvaluationBinary().stats().endswith("FN     \n-- No Data --\n")
    line = EvaluationBinary(1, roc_binary_steps=3).stats().split("\n")[1]
    assert " ".join(line.split()) == "0 NaN NaN NaN NaN 0 0 0 0 0 NaN"


def test_the_report_rounds_as_java_does():
    """17 of 32 is 0.53125: Java prints 0.5313, Python 0.5312."""
    evaluation = EvaluationBinary()
    evaluation.eval(np.ones((32, 1)), (np.arange(32) < 17).astype(float)[:, None])
    assert evaluation.stats().split("\n")[1].split()[1] == "0.5313"


TEXT = filled(decision_threshold=[0.5, 0.5, 0.5], labels=list("abc")).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("[ 1, 0, 2 ]", "null"), "four counts must have one length"),
        (TEXT.replace("[ 1, 0, 2 ]", "[ 1 ]"), r"must have one length, got \[1, 3\]"),
        (TEXT.replace("[ 1, 0, 2 ]", "[ 1, 0, -2 ]"), "whole numbers >= 0"),
        (TEXT.replace("[ 1, 0, 2 ]", "[ 1, 0, 1.5 ]"), "whole numbers >= 0"),
        (
            TEXT.replace("[ 1, 0, 2 ]", f"[ 1, 0, {2**62} ]"),
            r"counts must be below 2\*\*61",
        ),
        (TEXT.replace('"a", "b", "c"', '"a"'), "labels must have 3 entries"),
        (TEXT.replace("[ 0.5, 0.5, 0.5 ]", "[ 0.5, 0.5, 7 ]"), "numbers from 0 to 1"),
        (TEXT.replace('"rocBinary" : null', '"rocBinary" : [ ]'), "an object or null"),
        (
            TEXT.replace("countFalseNegative", "x"),
            "must have the field countFalseNegative",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FormatError, match=f"EvaluationBinary: .*{message}"):
        EvaluationBinary.from_json(text)
