"""`ROCBinary` and `ROCMultiClass`: a ROC a column."""

import math

import numpy as np
import pytest

from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass

LABELS = np.eye(2)[[0, 1, 1, 0]]
PREDICTIONS = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])

both = pytest.mark.parametrize("kind", [ROCBinary, ROCMultiClass])


def filled(kind, *options, mask=None, **named):
    evaluation = kind(*options, **named)
    evaluation.eval(LABELS, PREDICTIONS, mask)
    return evaluation


@both
@pytest.mark.parametrize("column", [0, 1])
def test_a_column_is_a_roc(kind, column):
    roc = ROC()
    roc.eval(LABELS[:, [column]], PREDICTIONS[:, [column]])
    evaluation = filled(kind)
    assert evaluation.roc(column).to_json() == roc.to_json()
    assert evaluation.auc(column) == roc.auc()
    assert evaluation.auprc(column) == roc.auprc()
    assert evaluation.roc_curve(column).area() == roc.auc()
    assert evaluation.precision_recall_curve(column).area() == roc.auprc()


@both
def test_averages_and_metrics(kind):
    evaluation = filled(kind)
    mean = (evaluation.auc(0) + evaluation.auc(1)) / 2
    assert evaluation.average_auc() == mean
    assert evaluation.score_for_metric("AUROC") == mean
    assert evaluation.score_for_metric("AUROC", 1) == evaluation.auc(1)
    assert evaluation.score_for_metric("AUPRC") == evaluation.average_auprc()
    assert evaluation.score_for_metric("AUPRC", 0) == evaluation.auprc(0)


@both
def test_without_data(kind):
    assert math.isnan(kind().average_auc())
    assert math.isnan(kind().average_auprc())
    assert kind().stats().endswith("# Neg     \n-- No Data --\n")
    with pytest.raises(
        OptionError, match="column must be among those counted, got 0 and no data"
    ):
        kind().auc(0)


def test_a_mask_of_one_value_an_output_drops_it():
    mask = np.array([[1, 0], [1, 1], [1, 1], [1, 0]])
    evaluation = filled(ROCBinary, mask=mask)
    assert [roc.example_count for roc in evaluation.rocs] == [4, 2]


def test_classes_take_no_mask_of_one_value_an_output():
    with pytest.raises(ShapeError, match=r"got one an output, shape \(4, 2\)"):
        filled(ROCMultiClass, mask=np.ones((4, 2)))


@both
def test_names_stand_in_the_report(kind):
    names = ["a name that is long", "b"]
    lines = filled(kind, 10, labels=names).stats().split("\n")
    assert lines[0].startswith("Label" + 19 * " " + "AUC")
    assert lines[1].startswith("a name that is long     ")


@both
def test_names_come_with_a_merge(kind):
    merged = kind()
    merged.merge(filled(kind, labels=["a", "b"]))
    assert merged.labels == ["a", "b"]


@both
def test_another_number_of_names_is_refused(kind):
    with pytest.raises(ShapeError, match="must have 3 columns, one a name, got 2"):
        filled(kind, labels=["a", "b", "c"])


@both
def test_another_number_of_columns_is_refused(kind):
    evaluation = filled(kind)
    with pytest.raises(ShapeError, match="labels must have 2 columns, got 3"):
        evaluation.eval(np.zeros((1, 3)), np.zeros((1, 3)))


TEXT = filled(ROCMultiClass, 2, labels=["a", "b"]).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TEXT.replace('teps" : 2', 'teps" : 3', 1),
            "thresholdSteps must be 3 in every",
        ),
        (TEXT.replace('"a", "b"', '"a"'), "labels must name 2 columns, got 1"),
        (TEXT.replace('"a", "b"', '"a", 7'), "labels must be a list of texts or null"),
        (
            TEXT.replace('"underlying" : [', '"underlying" : [ 1, '),
            "underlying must be a list of objects",
        ),
        (
            TEXT.replace('"axis" : 1', '"axis" : 9'),
            "axis must be a whole number from 1",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FormatError, match=f"ROCMultiClass: {message}"):
        ROCMultiClass.from_json(text)
