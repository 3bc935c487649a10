"""`Evaluation`: rules, shapes, refusals, files."""

import math
import pickle

import numpy as np
import pytest

from daskdl.dl4j.evaluation.reader import from_json
from daskdl.errors import DataError, FormatError, OptionError, ShapeError
from daskdl.evaluation.evaluation import Evaluation, Prediction
from daskdl.evaluation.regression import RegressionEvaluation

LABELS = np.eye(3)[[0, 0, 1, 2]]
PREDICTIONS = np.array(
    [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.8, 0.1], [0.5, 0.3, 0.2]]
)


def evaluated(**options):
    evaluation = Evaluation(**options)
    evaluation.eval(LABELS, PREDICTIONS)
    return evaluation


def iris():
    """The 150 irises of DL4J's regression files."""
    confusion = [[45, 5, 0], [0, 26, 24], [0, 4, 46]]
    evaluation = Evaluation()
    for actual, row in enumerate(confusion):
        for predicted, count in enumerate(row):
            if count:
                evaluation.eval(
                    np.eye(3)[[actual] * count], np.eye(3)[[predicted] * count]
                )
    return evaluation


def test_confusion_matrix_has_a_row_an_actual_class():
    assert evaluated().confusion_matrix.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]


def test_iris_of_the_dl4j_repository():
    evaluation = iris()
    assert evaluation.accuracy() == pytest.approx(0.78)
    assert evaluation.precision() == pytest.approx(0.8, abs=5e-5)
    assert evaluation.recall() == pytest.approx(0.78)
    assert evaluation.f1() == pytest.approx(0.7753, abs=5e-5)


def test_top_n_counts_ties_as_correct():
    evaluation = Evaluation(top_n=2)
    evaluation.eval(np.eye(3)[[2, 2]], np.array([[0.4, 0.3, 0.3], [0.5, 0.3, 0.2]]))
    assert evaluation.top_n_accuracy() == 0.5


def test_top_n_accuracy_of_top_1_is_accuracy():
    assert evaluated().top_n_accuracy() == 0.5


def test_without_data_rates_are_zero_and_f1_is_unknown():
    evaluation = Evaluation(top_n=2)
    assert evaluation.accuracy() == 0.0
    assert evaluation.top_n_accuracy() == 0.0
    assert evaluation.precision() == 0.0
    assert evaluation.recall() == 0.0
    assert math.isnan(evaluation.f1())
    assert math.isnan(evaluation.matthews_correlation())


def test_report_without_data_says_so():
    text = Evaluation().stats()
    assert "# of classes:    0" in text
    assert "F1 Score:        NaN" in text
    assert "Confusion matrix: <no data>" in text


def test_report_can_leave_out_warnings_and_matrix():
    text = evaluated().stats(warnings=False, confusion=False)
    assert "Warning" not in text
    assert "Confusion" not in text


def test_report_lists_no_more_classes_than_asked_for():
    evaluation = Evaluation(max_warning_classes_to_print=1)
    evaluation.eval(np.eye(4)[[0, 0]], np.eye(4)[[0, 0]])
    text = evaluation.stats()
    assert "Warning: 3 classes were never predicted" in text
    assert "Classes excluded" not in text


def test_a_matrix_of_many_classes_is_printed_when_asked_for():
    evaluation = Evaluation()
    evaluation.eval(np.eye(21), np.eye(21))
    assert "space requirements" in evaluation.stats()
    assert " | 20 = 20" in evaluation.stats(confusion=True)


def test_averages_of_two_classes_without_a_positive_one():
    evaluation = Evaluation(2, binary_positive_class=None)
    evaluation.eval(np.eye(2)[[0, 0, 1]], np.eye(2)[[0, 1, 1]])
    assert evaluation.precision() == pytest.approx(0.75)
    assert "macro-averaged" in evaluation.stats()


@pytest.mark.parametrize(
    ("shape", "mask_shape"),
    [
        ((4, 3), (4,)),
        ((4, 3), (4, 1)),
        ((4, 3, 5), (4,)),
        ((4, 3, 5), (4, 1)),
        ((4, 3, 5), (4, 5)),
        ((4, 3, 5), (4, 1, 5)),
        ((4, 3, 2, 6), (4, 2, 6)),
        ((4, 3, 2, 6), (4, 1, 2, 6)),
        ((4, 3, 2, 6), (4, 1)),
        ((4, 3, 2, 2, 2), (4, 2, 2, 2)),
        ((4, 1), (4, 1)),
    ],
)
def test_a_mask_drops_what_it_covers(rng, shape, mask_shape):
    labels = (rng.random(shape) > 0.5).astype(float)
    predictions = rng.random(shape)
    mask = np.ones(mask_shape)
    mask[1] = 0
    predictions[1] = np.nan
    kept = [0, 2, 3]
    masked, expected = Evaluation(), Evaluation()
    masked.eval(labels, predictions, mask)
    expected.eval(labels[kept], predictions[kept])
    assert masked.confusion_matrix.tolist() == expected.confusion_matrix.tolist()


def test_classes_may_be_on_the_last_axis(rng):
    labels, predictions = rng.random((2, 4, 3, 5))
    mask = rng.random((4, 5)) > 0.5
    first, last = Evaluation(), Evaluation(axis=2)
    first.eval(labels, predictions, mask)
    last.eval(np.moveaxis(labels, 1, 2), np.moveaxis(predictions, 1, 2), mask)
    assert first.to_json().replace('"axis" : 1', "") == last.to_json().replace(
        '"axis" : 2', ""
    )


def test_a_batch_that_is_masked_whole_counts_nothing():
    evaluation = Evaluation()
    evaluation.eval(LABELS, PREDICTIONS, np.zeros(4))
    assert evaluation.num_examples == 0


@pytest.mark.parametrize(
    ("labels", "predictions", "mask", "message"),
    [
        (LABELS, PREDICTIONS[:3], None, r"the same shape, got \(4, 3\) and \(3, 3\)"),
        (LABELS[0], PREDICTIONS[0], None, r"from 2 to 5 axes, .* got shape \(3,\)"),
        (LABELS, PREDICTIONS, np.ones(3), r"one value an example.* got shape \(3,\)"),
        (LABELS, PREDICTIONS, np.ones((4, 3)), r"got one an output, shape \(4, 3\)"),
    ],
)
def test_shapes_that_do_not_go_together_are_refused(labels, predictions, mask, message):
    with pytest.raises(ShapeError, match=message):
        Evaluation().eval(labels, predictions, mask)


@pytest.mark.parametrize("which", ["labels", "predictions"])
def test_nan_is_refused_with_its_place(which):
    arrays = {"labels": LABELS.copy(), "predictions": PREDICTIONS.copy()}
    arrays[which][2, 1] = np.nan
    with pytest.raises(
        DataError, match=f"{which} must be numbers, got 1 NaN.*row 2.*1"
    ):
        Evaluation().eval(**arrays)


def test_another_number_of_classes_is_refused():
    with pytest.raises(ShapeError, match="labels must have 4 classes, got 3"):
        evaluated(n_classes=4)


def test_another_number_of_classes_than_names_is_refused_before_counting():
    evaluation = Evaluation(labels=["a", "b"])
    with pytest.raises(ShapeError, match="labels must have 2 classes, got 3"):
        evaluation.eval(LABELS, PREDICTIONS)
    assert evaluation.num_examples == 0


def test_another_number_of_classes_than_costs_is_refused():
    with pytest.raises(ShapeError, match="must have 2 classes, one a cost, got 3"):
        evaluated(cost_array=[1, 2])


def test_a_decision_threshold_needs_one_or_two_columns():
    with pytest.raises(ShapeError, match="1 or 2 columns for a binary_decision_thresh"):
        evaluated(binary_decision_threshold=0.4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_n": 0}, "top_n must be >= 1, got 0"),
        ({"axis": 0}, "axis must be >= 1, got 0"),
        ({"n_classes": 0}, "n_classes must be >= 1, got 0"),
        ({"binary_positive_class": 2}, "binary_positive_class must be one of"),
        (
            {"n_classes": 3, "binary_positive_class": 0},
            "must be left out when there are not two classes, got 0 with n_classes 3",
        ),
        ({"cost_array": [1, -1]}, r"must be a row of numbers >= 0, got \[1.0, -1.0\]"),
        ({"cost_array": [[1]]}, "must be a row of numbers"),
        ({"n_classes": 3, "labels": ["a"]}, "labels must name 3 classes, got 1"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Evaluation(**options)


def test_class_and_averaging_together_are_refused():
    with pytest.raises(OptionError, match="only one of class_index and averaging"):
        evaluated().precision(1, averaging="micro")


def test_an_unknown_averaging_is_refused():
    with pytest.raises(OptionError, match="averaging must be one of"):
        evaluated().recall(averaging="makro")


def test_an_unknown_metric_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match=r"metric must be one of .*Did you mean 'F1'"):
        evaluated().score_for_metric("f11")


def test_merging_leaves_the_other_alone():
    one, other = evaluated(), evaluated()
    one.merge(other)
    assert one.num_examples == 8
    assert other.num_examples == 4


def test_merging_an_empty_evaluation_changes_nothing():
    evaluation = evaluated()
    evaluation.merge(Evaluation())
    assert evaluation.num_examples == 4


def test_merging_takes_over_names():
    evaluation = evaluated()
    evaluation.merge(evaluated(labels=["a", "b", "c"]))
    assert evaluation.labels == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (RegressionEvaluation(), OptionError, "only another Evaluation can be merged"),
        (Evaluation(top_n=2, n_classes=3), OptionError, "top_n must be 1 to be merged"),
        (Evaluation(4), ShapeError, "labels must have 3 classes, got 4"),
    ],
)
def test_merging_what_does_not_fit_is_refused(other, error, message):
    with pytest.raises(error, match=message):
        evaluated().merge(other)


def test_pickle_keeps_everything():
    evaluation = evaluated(top_n=2, labels=["a", "b", "c"])
    assert pickle.loads(pickle.dumps(evaluation)).to_json() == evaluation.to_json()


def test_repr_is_the_report():
    assert repr(evaluated()) == evaluated().stats()


def test_metadata_finds_the_examples_again():
    evaluation = Evaluation()
    evaluation.eval(LABELS, PREDICTIONS, [1, 1, 0, 1], metadata=["a", "b", "c", "d"])
    assert evaluation.prediction_errors() == [
        Prediction(0, 1, "b"),
        Prediction(2, 0, "d"),
    ]
    assert evaluation.predictions(predicted=0) == [
        Prediction(0, 0, "a"),
        Prediction(2, 0, "d"),
    ]
    assert evaluation.predictions(actual=0, predicted=1) == [Prediction(0, 1, "b")]


def test_metadata_is_merged():
    evaluations = [Evaluation(), Evaluation()]
    for evaluation, keys in zip(evaluations, ["abcd", "efgh"], strict=True):
        evaluation.eval(LABELS, PREDICTIONS, metadata=keys)
    evaluations[0].merge(evaluations[1])
    assert [row.metadata for row in evaluations[0].predictions()] == list("abcdefgh")


def test_metadata_of_another_length_is_refused():
    with pytest.raises(ShapeError, match=r"metadata must have one entry.* got 3 for"):
        Evaluation().eval(LABELS, PREDICTIONS, metadata="abc")


def test_compact_json_has_no_padding_and_reads_the_same():
    evaluation = evaluated()
    compact = evaluation.to_json(compact=True)
    assert '"0" : [ [ 0, 1 ], [ 1, 1 ] ]' in compact
    assert from_json(compact).to_json() == evaluation.to_json()


def test_json_without_data_is_read():
    assert from_json(Evaluation().to_json()).num_examples == 0
    assert from_json(Evaluation(labels=["a", "b"]).to_json()).n_classes == 2


def test_json_of_before_beta3_is_read():
    text = evaluated().to_json()
    old = text.replace("org.nd4j.evaluation.classification", "org.deeplearning4j.eval")
    assert from_json(old).accuracy() == 0.5


COMPACT = evaluated().to_json(compact=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the text must be JSON, got '{'"),
        ("[]", "@class must be one of .*, got None"),
        ('{"@class": "x.ROC"}', "@class must be one of .*, got 'x.ROC'"),
        (COMPACT.replace('"confusion"', '"c"'), "must have the field confusion"),
        (COMPACT.replace('"matrix"', '"classes"'), "classes must be a list of whole"),
        (COMPACT.replace('"0" : [ [', '"-1" : [ ['), "must hold classes below 3"),
        (COMPACT.replace('"0" : [ [ 0, 1 ], [ 1, 1 ] ]', '"0" : []'), "be two lists"),
        (COMPACT.replace("[ 1, 1 ]", f"[ {2**62}, {2**62} ]"), r"count below 2\*\*63"),
        (COMPACT.replace("[ 0, 1, 2 ]", str([0] * 20_000)), "at most 16384 classes"),
        (
            COMPACT.replace('"costArray" : null', '"costArray" : [ -1.0, 1.0, 1.0 ]'),
            "cost_array",
        ),
        (COMPACT.replace("[ 0, 1, 2 ]", "[ 0, 2, 1 ]"), "classes must be 0, 1, 2"),
        (COMPACT.replace("[ 1, 1 ]", "[ 1, -1 ]"), "whole numbers >= 0, got list of 2"),
        (
            COMPACT.replace("[ 1, 1 ]", "[ 1 ]"),
            "as many classes as counts, got 2 and 1",
        ),
        (COMPACT.replace("[ 0, 1 ]", "[ 0, 7 ]"), "must hold classes below 3"),
        (
            COMPACT.replace('"0", "1", "2"', '"0"'),
            "labelsList must have 3 entries, one a class, got 1",
        ),
        (
            COMPACT.replace('"topN" : 1', '"topN" : "x"'),
            "topN must be a whole number from 1",
        ),
        (COMPACT.replace('Class" : 1', 'Class" : 7'), "PositiveClass must be .*got 7"),
        (
            COMPACT.replace('"costArray" : null', '"costArray" : {}'),
            "costArray must be an array whose type, shape and data go together",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FormatError, match=message):
        Evaluation.from_json(text)
