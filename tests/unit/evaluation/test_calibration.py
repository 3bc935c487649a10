"""`EvaluationCalibration`: bins, diagrams, histograms, merging, files."""

import json

import numpy as np
import pytest

from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.calibration import EvaluationCalibration

LABELS = np.eye(2)[[0, 1, 1, 0]]
PREDICTIONS = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [1.0, 0.0]])


def filled(*options, rows=slice(None), **named):
    evaluation = EvaluationCalibration(*options, **named)
    evaluation.eval(LABELS[rows], PREDICTIONS[rows])
    return evaluation


def test_counts_of_labels_and_predictions():
    assert filled().label_counts.tolist() == [2, 2]
    assert filled().prediction_counts.tolist() == [3, 1]
    assert EvaluationCalibration().label_counts.tolist() == []
    assert EvaluationCalibration().prediction_counts.tolist() == []


def test_a_reliability_diagram_has_a_point_a_bin_that_is_not_empty():
    diagram = filled(2).reliability_diagram(0)
    assert diagram.title == "Reliability Diagram: Class 0"
    assert diagram.mean_predicted_value == pytest.approx([0.2, 2.6 / 3])
    assert diagram.fraction_positives == pytest.approx([0.0, 2 / 3])
    assert filled(20).reliability_diagram(0).mean_predicted_value.size == 4


def test_empty_bins_are_nan_if_they_stay():
    diagram = filled(4, exclude_empty_bins=False).reliability_diagram(0)
    assert np.isnan(diagram.mean_predicted_value).tolist() == [
        False,
        True,
        False,
        False,
    ]


def test_the_last_bin_has_probability_1():
    evaluation = EvaluationCalibration(2, 2)
    evaluation.eval(np.ones((2, 1)), np.array([[1.0], [0.5]]))
    assert evaluation.probability_histogram().counts.tolist() == [0, 2]
    assert evaluation.reliability_diagram(0).mean_predicted_value.tolist() == [0.75]


def test_expected_calibration_error():
    """Bins of class 0: 0.2 where 0 of 1 came, 2.6 / 3 where 2 of 3 came."""
    assert filled(2).expected_calibration_error(0) == pytest.approx((0.2 + 0.6) / 4)


def test_without_a_probability_in_a_bin_there_is_no_calibration_error():
    evaluation = EvaluationCalibration()
    evaluation.eval(LABELS, PREDICTIONS, np.zeros(4))
    assert np.isnan(evaluation.expected_calibration_error(0))


def test_histograms_of_probabilities():
    everything = filled(10, 4).probability_histogram()
    assert everything.title.endswith("All Predictions and Classes")
    assert (everything.lower, everything.upper) == (0.0, 1.0)
    assert everything.counts.tolist() == [3, 1, 1, 3]
    of_class = filled(10, 4).probability_histogram(1)
    assert of_class.title.endswith("P(class 1) - Data Labelled Class 1 Only")
    assert of_class.counts.tolist() == [0, 1, 0, 1]


def test_histograms_of_residuals():
    assert filled(10, 4).residual_plot().counts.tolist() == [6, 0, 2, 0]
    of_class = filled(10, 4).residual_plot(0)
    assert of_class.title == "Residual Plot - Predictions for Label Class 0"
    assert of_class.counts.tolist() == [2, 0, 0, 0]


def test_a_residual_above_1_is_in_no_bin():
    evaluation = EvaluationCalibration(2, 2)
    evaluation.eval(np.array([[-1.0], [1.0]]), np.array([[0.5], [0.5]]))
    assert evaluation.residual_plot().counts.tolist() == [0, 1]


def test_probabilities_meet_bins_in_their_own_precision():
    """0.7 of float32 is below 0.7 of float64, but begins the bin there."""
    evaluation = EvaluationCalibration(10, 10)
    evaluation.eval(np.ones((1, 1), np.float32), np.full((1, 1), 0.7, np.float32))
    assert evaluation.probability_histogram().counts.tolist() == [0] * 7 + [1, 0, 0]


def test_merging_adds_histograms_and_counts_unlike_dl4j():
    merged = filled(rows=slice(2))
    merged.merge(filled(rows=slice(2, None)))
    assert json.loads(merged.to_json()) == json.loads(filled().to_json())


def test_merging_into_an_empty_one_counts_once_unlike_dl4j():
    merged = EvaluationCalibration()
    merged.merge(filled())
    assert merged.to_json() == filled().to_json()


def test_merging_other_bins_is_refused():
    with pytest.raises(OptionError, match=r"must be \(10, 50\) .* got \(10, 20\)"):
        filled().merge(filled(10, 20))


def test_a_mask_of_one_value_an_output_is_refused():
    with pytest.raises(ShapeError, match=r"got one an output, shape \(4, 2\)"):
        EvaluationCalibration().eval(LABELS, PREDICTIONS, np.ones((4, 2)))


@pytest.mark.parametrize("name", ["reliability_diagram", "residual_plot"])
def test_no_class_beyond_the_last(name):
    with pytest.raises(
        OptionError, match="class_index must be a whole number from 0 to 1, got 2"
    ):
        getattr(filled(), name)(2)


def test_without_data_there_is_nothing_to_draw():
    with pytest.raises(
        OptionError, match="class_index must be among those counted, got 0 and no data"
    ):
        EvaluationCalibration().residual_plot()


@pytest.mark.parametrize("options", [(0,), (10, 0), (2.5,)])
def test_impossible_bins_are_refused(options):
    with pytest.raises(OptionError, match="num_bins must be a whole number > 0, got"):
        EvaluationCalibration(*options)


TEXT = filled(2, 4).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TEXT.replace('NumBins" : 2', 'NumBins" : 3'),
            r"bin_positive must have shape \(3, 2",
        ),
        (TEXT.replace('NumBins" : 2', f'NumBins" : {2**40}'), "whole number from 1 to"),
        (
            TEXT.replace('BinPosCount" : {', 'X" : {'),
            "must have all its sums, got none for",
        ),
        (
            TEXT.replace("ABBNSVhF", "ABBNSVhf"),
            "rDiagBinPosCount must be an array whose",
        ),
        (
            TEXT.replace("[ 2, 2 ]", "[ 2, -2 ]"),
            "labelCountsEachClass must be an array",
        ),
        (
            TEXT.replace("[ 2, 2 ]", "[ 2, 2, 2 ]"),
            "labelCountsEachClass must be an array",
        ),
        (
            TEXT.replace("[ 6.0, 0.0", "[ 6.0, -1.0"),
            "must hold numbers >= 0, got float64",
        ),
        (
            TEXT.replace("[ 6.0, 0.0", '[ 6.0, "NaN"'),
            "must hold numbers >= 0, got float64",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FormatError, match=f"EvaluationCalibration: .*{message}"):
        EvaluationCalibration.from_json(text)
