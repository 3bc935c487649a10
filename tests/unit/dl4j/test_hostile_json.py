"""Evaluation files that are damaged, hostile or foreign end in a `FormatError`."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.dl4j.evaluation.reader import from_json
from daskdl.errors import FormatError
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass

LABELS = np.eye(2)[[0, 1, 1, 0]]
PREDICTIONS = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [1.0, 0.0]])


def text_of(evaluation):
    evaluation.eval(LABELS, PREDICTIONS)
    return evaluation.to_json()


TEXTS = [
    text_of(Evaluation(labels=["a", "b"], cost_array=[1.0, 2.0])),
    text_of(EvaluationBinary(roc_binary_steps=2, decision_threshold=[0.5, 0.5])),
    text_of(EvaluationCalibration(2, 2)),
    text_of(ROC()),
    text_of(ROC(2)),
    text_of(ROCBinary(2)),
    text_of(ROCMultiClass(roc_remove_redundant_pts=False)),
    text_of(RegressionEvaluation()),
]
FIELDS = [json.loads(text) for text in TEXTS]

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([2**31, 2**53, 2**62, 2**63 - 1, 2**63, 10**400, -(2**63)]),
    st.sampled_from([0.5, 1e300, 1e-300, -1.0, math.nan, math.inf, 1e18, 2.0**62]),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "", "1", "LONG", "AAAA", "x"]),
    st.text(max_size=3),
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["0", "1", "array", "data"]), inner)
    ),
    max_leaves=6,
)


def paths_of(value, path=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            yield (*path, name)
            yield from paths_of(inner, (*path, name))


@st.composite
def damaged_fields(draw):
    """A file in which some fields were replaced or left out."""
    fields = json.loads(json.dumps(draw(st.sampled_from(FIELDS))))
    for _ in range(draw(st.integers(1, 3))):
        paths = list(paths_of(fields))
        *path, last = draw(st.sampled_from(paths))
        place = fields
        for name in path:
            place = place[name]
        if draw(st.booleans()):
            place[last] = draw(values)
        else:
            del place[last]
    return json.dumps(fields)


@st.composite
def damaged_text(draw):
    """A file in which characters were changed, left out or cut off."""
    text = draw(st.sampled_from(TEXTS))
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start, min(start + 5, len(text))))
    kept = draw(st.sampled_from([len(text), end]))
    return (
        text[:start]
        + draw(st.text('0123456789.eE-+"[]{}:, N', max_size=4))
        + (text[end:kept])
    )


def read_or_refuse(text):
    """Read; what was read must be whole, and what was not a `FormatError`."""
    try:
        evaluation = from_json(text)
    except FormatError:
        return
    evaluation.stats()
    evaluation.to_json()
    for metric in evaluation.METRICS:
        evaluation.score_for_metric(metric)
    copy = evaluation.new_instance()
    copy.merge(evaluation)
    copy.stats()


@settings(max_examples=300)
@given(damaged_fields())
def test_damaged_fields_are_refused_or_read_whole(text):
    read_or_refuse(text)


@settings(max_examples=200)
@given(damaged_text())
def test_damaged_text_is_refused_or_read_whole(text):
    read_or_refuse(text)


@given(st.text())
def test_any_other_text_is_refused(text):
    with pytest.raises(FormatError):
        from_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"@class":' * 200_000,
        '{"@class": ' + "[" * 900 + "]" * 900 + "}",
        "9" * 100_000,
        '{"@class": null}',
        '{"@class": {}}',
        "\ud800",
        "null",
    ],
    ids=range(8),
)
def test_what_is_no_evaluation_is_refused(text):
    with pytest.raises(FormatError):
        from_json(text)


@pytest.mark.parametrize("text", [None, 7, {}])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(FormatError, match="the text must be JSON, got"):
        from_json(text)


def changed(kind, name, value):
    (fields,) = (f for f in FIELDS if f["@class"].endswith(f".{kind}"))
    return json.dumps(fields | {name: value})


def vector(*data):
    return {"dataType": "DOUBLE", "shape": [len(data)], "data": list(data)}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("RegressionEvaluation", "exampleCountPerColumn", vector(-1.0, 4.0)),
        ("RegressionEvaluation", "exampleCountPerColumn", vector(0.0, math.inf)),
        ("RegressionEvaluation", "sumSquaredErrorsPerColumn", vector(1.0, -1.0)),
        ("Evaluation", "costArray", []),
        ("Evaluation", "costArray", vector(1.0, math.inf)),
        ("Evaluation", "costArray", vector(1.0) | {"shape": []}),
        ("Evaluation", "costArray", vector(1.0, 2.0) | {"shape": [-1, -2]}),
        ("EvaluationBinary", "decisionThreshold", vector(1.0) | {"dataType": []}),
        ("EvaluationBinary", "labels", {"0": "a", "1": "b"}),
        ("Evaluation", "binaryDecisionThreshold", "x"),
        ("Evaluation", "binaryDecisionThreshold", 10**400),
        ("Evaluation", "costArray", [10**400, 1.0]),
        ("Evaluation", "costArray", {"array": [1]}),
    ],
)
def test_findings_of_fuzzing_stay_refused(kind, name, value):
    with pytest.raises(FormatError):
        from_json(changed(kind, name, value))


@pytest.mark.parametrize(
    ("curve", "rate"), [("rocCurve", "fpr"), ("prCurve", "precision")]
)
def test_curves_of_what_are_no_rates_are_refused(curve, rate):
    fields = json.loads(text_of(ROC()))
    fields[curve][rate][-2:] = [math.inf, math.inf]
    with pytest.raises(FormatError, match=f"the rates of {curve} must be from 0 to 1"):
        from_json(json.dumps(fields))


def test_many_examples_are_not_written_as_so_many_zeros():
    evaluation = from_json(text_of(Evaluation(labels=["a", "b"])))
    evaluation.confusion_matrix[0, 0] = 2**53
    assert len(evaluation.to_json()) < 10_000
    found = from_json(evaluation.to_json())
    np.testing.assert_array_equal(found.confusion_matrix, evaluation.confusion_matrix)


def test_sums_beyond_a_double_are_read_without_a_warning():
    huge = changed("RegressionEvaluation", "sumSquaredLabels", vector(1e308, 1e308))
    merged = from_json(huge)
    merged.merge(from_json(huge))
    assert "NaN" in merged.stats()
