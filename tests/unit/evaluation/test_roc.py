"""`ROC`: curves, areas, thresholds, ties, and files without examples."""

import json
import math
import re

import numpy as np
import pytest

from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.roc import ROC
from tests.dialects import DL4J

LABELS = np.array([[1.0], [0.0], [1.0], [0.0]])
PREDICTIONS = np.array([[0.9], [0.6], [0.5], [0.1]])


def roc_of(labels=LABELS, predictions=PREDICTIONS, steps=0, **options):
    roc = ROC(steps, **options)
    roc.eval(labels, predictions)
    return roc


def pairwise_auc(labels, predictions):
    """The share of pairs that are in the right order, a tie counting half."""
    above = predictions[labels == 1][:, None] - predictions[labels == 0]
    return ((above > 0) + 0.5 * (above == 0)).mean()


def test_the_exact_curve_has_a_point_an_example():
    curve = roc_of(roc_remove_redundant_pts=False).roc_curve()
    assert curve.threshold.tolist() == [1.0, 0.9, 0.6, 0.5, 0.1, 0.0]
    assert curve.fpr.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    assert curve.tpr.tolist() == [0.0, 0.5, 0.5, 1.0, 1.0, 1.0]


def test_redundant_points_are_left_out():
    curve = roc_of().roc_curve()
    assert curve.threshold.tolist() == [1.0, 0.9, 0.6, 0.5, 0.0]
    perfect = roc_of(predictions=LABELS * 0.8 + 0.1).roc_curve()
    assert perfect.tpr.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("keep", [True, False])
def test_auc_is_the_share_of_pairs_in_the_right_order(rng, keep):
    labels = rng.integers(0, 2, 200).astype(float)
    predictions = rng.permutation(200) / 200
    roc = roc_of(labels[:, None], predictions[:, None], roc_remove_redundant_pts=keep)
    assert roc.auc() == pytest.approx(pairwise_auc(labels, predictions), rel=1e-12)


def test_labels_above_one_half_are_positive():
    """DL4J multiplies by them, and cuts the sums to whole counts."""
    soft = np.array([[0.8], [0.5], [0.6], [0.2]])
    assert roc_of(soft).roc_curve().tpr.tolist() == roc_of().roc_curve().tpr.tolist()


def test_auc_at_thresholds_is_near_the_exact_one(rng):
    labels = rng.integers(0, 2, (400, 1)).astype(float)
    predictions = np.clip(labels * 0.3 + rng.random((400, 1)) * 0.7, 0, 1)
    exact = roc_of(labels, predictions)
    coarse = roc_of(labels, predictions, steps=200)
    assert coarse.auc() == pytest.approx(exact.auc(), abs=0.01)


def test_the_second_of_two_columns_is_the_positive_class():
    two = roc_of(np.hstack([1 - LABELS, LABELS]), np.hstack([PREDICTIONS] * 2))
    assert two.to_json() == roc_of().to_json()


def test_equal_probabilities_count_in_their_order_in_dl4j():
    labels, half = np.array([[1.0], [0.0]]), np.full((2, 1), 0.5)
    assert roc_of(labels, half, dialect=DL4J).auc() == 1.0
    assert roc_of(labels[::-1], half, dialect=DL4J).auc() == 0.0


@pytest.mark.parametrize("keep", [True, False])
def test_ties_count_half(rng, keep):
    """As in scikit-learn, whatever their order."""
    labels = rng.integers(0, 2, 200).astype(float)
    predictions = rng.integers(0, 9, 200) / 10
    roc = roc_of(labels[:, None], predictions[:, None], roc_remove_redundant_pts=keep)
    assert roc.auc() == pytest.approx(pairwise_auc(labels, predictions), rel=1e-12)


def test_the_precision_recall_curve_has_a_point_a_probability():
    labels, predictions = (
        np.array([[1.0], [0.0], [1.0]]),
        np.array([[0.7], [0.7], [0.2]]),
    )
    curve = roc_of(labels, predictions, roc_remove_redundant_pts=False)
    found = curve.precision_recall_curve()
    assert found.threshold.tolist() == [0.0, 0.2, 0.7, 1.0]
    assert found.precision.tolist() == pytest.approx([2 / 3, 2 / 3, 0.5, 1.0])
    assert found.recall.tolist() == [1.0, 1.0, 0.5, 0.0]


def test_equal_probabilities_count_half_at_thresholds():
    labels, half = np.array([[1.0], [0.0]]), np.full((2, 1), 0.5)
    assert roc_of(labels, half, steps=10).auc() == 0.5


def test_at_threshold_1_nothing_is_predicted_as_in_dl4j():
    roc = roc_of(np.ones((1, 1)), np.ones((1, 1)), steps=2)
    assert roc.counts()[1].tolist() == [1, 1, 0]


def test_probabilities_meet_thresholds_in_their_own_precision():
    """0.7 of float32 is below 0.7 of float64, but not below itself."""
    single = roc_of(np.ones((1, 1)), np.full((1, 1), 0.7, np.float32), steps=10)
    assert single.counts()[1].tolist() == [1] * 8 + [0] * 3


def test_whole_numbers_are_probabilities():
    roc = roc_of(np.array([[1], [0]]), np.array([[1], [0]]), steps=4)
    assert roc.counts()[1].tolist() == [1, 1, 1, 1, 0]
    assert roc.counts()[2].tolist() == [1, 0, 0, 0, 0]


def test_without_negatives_there_is_no_roc_area():
    roc = roc_of(np.ones((3, 1)), PREDICTIONS[:3])
    assert math.isnan(roc.auc())
    assert roc.auprc() == 1.0


def test_without_positives_the_recall_is_1_at_every_threshold():
    roc = roc_of(np.zeros((3, 1)), PREDICTIONS[:3], steps=4)
    assert roc.precision_recall_curve().recall.tolist() == [1.0] * 5


def test_one_example_has_curves():
    roc = roc_of(np.ones((1, 1)), np.full((1, 1), 0.4))
    assert roc.precision_recall_curve().precision.tolist() == [1.0, 1.0]
    assert ROC.from_json(roc.to_json()).auprc() == 1.0


def test_without_data_areas_are_unknown_and_curves_refused():
    assert math.isnan(ROC().score_for_metric("AUROC"))
    assert math.isnan(ROC().score_for_metric("AUPRC"))
    with pytest.raises(OptionError, match=r"must have examples, got none. Call eval"):
        ROC().roc_curve()
    with pytest.raises(OptionError, match=r"must have examples, got none. Call eval"):
        ROC(4).precision_recall_curve()


def test_without_data_the_report_says_so():
    assert ROC(3).stats() == (
        "AUC (Area under ROC Curve):                NaN\n"
        "AUPRC (Area under Precision/Recall Curve): NaN\n"
        "[Note: Thresholded AUC/AUPRC calculation used with 3 steps); accuracy may "
        "reduced compared to exact mode]"
    )


def test_images_are_rows_of_pixels():
    labels = LABELS.reshape(1, 1, 2, 2)
    assert roc_of(labels, PREDICTIONS.reshape(1, 1, 2, 2)).auc() == roc_of().auc()


def test_more_than_two_columns_are_refused():
    with pytest.raises(ShapeError, match=r"1 or 2 columns.* \(4, 3\).* ROCMultiClass"):
        roc_of(np.zeros((4, 3)), np.zeros((4, 3)))


def test_a_mask_of_one_value_an_output_is_refused():
    with pytest.raises(ShapeError, match=r"a mask one value an example.* \(4, 2\)"):
        ROC().eval(np.zeros((4, 2)), np.zeros((4, 2)), np.ones((4, 2)))


@pytest.mark.parametrize("steps", [-1, "many", 2**31])
def test_impossible_steps_are_refused(steps):
    with pytest.raises(OptionError, match="ROC: threshold_steps must be"):
        ROC(steps)


def test_merging_other_thresholds_is_refused():
    with pytest.raises(OptionError, match=r"threshold_steps must be 10 .* got 0"):
        roc_of(steps=10).merge(roc_of())


class TestFromJson:
    """An exact ROC of a file has curves; its examples only if none was left out."""

    @pytest.fixture
    def read(self):
        found = roc_of(np.repeat(LABELS, 5, axis=0), np.linspace(0, 1, 20)[:, None])
        return ROC.from_json(found.to_json())

    def test_has_its_areas(self, read):
        text = read.to_json()
        assert read.auc() == json.loads(text)["auc"]
        assert read.auprc() == json.loads(text)["auprc"]

    def test_counts_no_more(self, read):
        with pytest.raises(OptionError, match=r"got the curves of a JSON file.*pickle"):
            read.eval(LABELS, PREDICTIONS)

    def test_is_not_merged_with_data(self, read):
        with pytest.raises(OptionError, match="got the curves of a JSON file"):
            read.merge(roc_of())
        with pytest.raises(OptionError, match="got the curves of a JSON file"):
            roc_of().merge(read)

    def test_is_merged_into_an_empty_one(self, read):
        empty = ROC()
        empty.merge(read)
        assert empty.to_json() == read.to_json()

    def test_with_all_points_counts_on(self):
        whole = roc_of(roc_remove_redundant_pts=False, dialect=DL4J)
        read = ROC.from_json(whole.to_json())
        read.merge(whole)
        whole.merge(ROC.from_json(whole.to_json()))
        assert read.to_json() == whole.to_json()
        assert read.example_count == 8

    def test_with_all_points_keeps_ties(self, rng):
        labels, tied = rng.integers(0, 2, (50, 1)), rng.integers(0, 5, (50, 1)) / 4
        whole = roc_of(labels, tied, roc_remove_redundant_pts=False)
        read = ROC.from_json(whole.to_json())
        fresh = ROC(roc_remove_redundant_pts=False)
        fresh.merge(read)
        assert fresh.to_json() == whole.to_json()


class TestPrecisionRecallCurve:
    """What DL4J asks of a curve."""

    @pytest.fixture
    def curve(self):
        return roc_of(roc_remove_redundant_pts=False).precision_recall_curve()

    def test_points(self, curve):
        assert curve.threshold.tolist() == [0.0, 0.1, 0.5, 0.6, 0.9, 1.0]
        assert curve.precision.tolist() == [0.5, 0.5, 2 / 3, 0.5, 1.0, 1.0]
        assert curve.recall.tolist() == [1.0, 1.0, 1.0, 0.5, 0.5, 0.0]

    def test_point_at_threshold_is_the_next_above(self, curve):
        assert curve.point_at_threshold(0.5).index == 2
        assert curve.point_at_threshold(0.55).index == 3

    def test_no_threshold_above_the_last_is_refused(self, curve):
        with pytest.raises(OptionError, match=r"threshold must be at most 1.0, got 2"):
            curve.point_at_threshold(2)

    def test_point_at_precision_has_the_lowest_threshold(self, curve):
        assert curve.point_at_precision(0.6).threshold == 0.5
        assert curve.point_at_precision(1.5).index == 5

    def test_point_at_recall_has_the_best_precision_of_its_recall(self, curve):
        assert curve.point_at_recall(0.9).threshold == 0.5
        assert curve.point_at_recall(0.4).threshold == 0.9
        assert curve.point_at_recall(2.0).index == 0

    def test_confusion_at_threshold(self, curve):
        confusion = curve.confusion_at_threshold(0.6)
        assert confusion.point.threshold == 0.6
        assert confusion.true_positives == 1
        assert confusion.false_positives == 1
        assert confusion.false_negatives == 1
        assert confusion.true_negatives == 1

    def test_no_point_beyond_the_last(self, curve):
        with pytest.raises(
            OptionError, match="index must be a whole number from 0 to 5, got 6"
        ):
            curve.point(6)


def test_optimal_thresholds():
    roc = roc_of(steps=10)
    assert roc.roc_curve().optimal_threshold() == pytest.approx(0.2)
    assert roc.precision_recall_curve().optimal_threshold() == pytest.approx(0.2)


def test_without_negatives_no_threshold_is_optimal():
    roc = roc_of(np.ones((3, 1)), PREDICTIONS[:3], steps=10)
    assert math.isnan(roc.roc_curve().optimal_threshold())


TEXT = roc_of(steps=2).to_json()
EXACT = roc_of().to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TEXT.replace('teps" : 2', 'teps" : 3'),
            "counts must have 4 thresholds, got 3",
        ),
        (
            TEXT.replace('teps" : 2', 'teps" : 2000000000'),
            "counts must have 2000000001",
        ),
        (
            TEXT.replace('hold" : 0.5', 'hold" : 0.9'),
            "threshold 1 of 2 must be about 0.5",
        ),
        (TEXT.replace('hold" : 0.5', 'hold" : "NaN"'), "must be about 0.5, got nan"),
        (
            TEXT.replace('tTruePositive" : 2', 'tTruePositive" : 9'),
            "at most 2 true and 2",
        ),
        (TEXT.replace('Negative" : 2', 'Negative" : -2'), "whole number from 0 to"),
        (
            TEXT.replace('Pts" : true', 'Pts" : "yes"'),
            "must be true or false, got 'yes'",
        ),
        (EXACT.replace("rocCurve", "curve"), "rocCurve of an exact ROC must be an"),
        (EXACT.replace("prCurve", "curve"), "prCurve of an exact ROC must be an"),
        (
            EXACT.replace('"fpr" : [ 0.0, ', '"fpr" : [ '),
            "rocCurve must have one length",
        ),
        (
            EXACT.replace('"fpr" : [ 0.0, ', '"fpr" : [ "x", '),
            "fpr must be a list of num",
        ),
        (
            EXACT.replace('Count" : 4', 'Count" : 5'),
            "prCurve must be of 4 examples, got 5",
        ),
        (
            EXACT.replace('"tpCount" : [', '"tpCount" : null, "x" : ['),
            "must have one length",
        ),
        (
            EXACT.replace('"prCurve" : {', '"prCurve" : 3, "x" : {'),
            "an object or null, got 3",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FormatError, match=message):
        ROC.from_json(text)


def test_counts_must_be_objects():
    with pytest.raises(FormatError, match=r"counts of '0.5' must be an object"):
        ROC.from_json(re.sub(r'"0.5" : {.*?}', '"0.5" : null', TEXT, flags=re.DOTALL))


def test_an_evaluation_of_outputs_is_no_roc():
    with pytest.raises(FormatError, match=r"@class must be one of .*ROC, got"):
        ROC.from_json(EvaluationBinary().to_json())
