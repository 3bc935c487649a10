"""The JSON of ``org.nd4j.evaluation.classification.ROC``, alone and in lists."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from daskdl.class_files import ClassFile
from daskdl.dl4j.evaluation.fields import Fields, read_fields
from daskdl.dl4j.java.jackson import dumps
from daskdl.errors import FormatError
from daskdl.evaluation.curves import (
    Counts,
    Curves,
    PrecisionRecallCurve,
    RocCurve,
    Row,
    StoredRoc,
)
from daskdl.evaluation.number_texts import number_text
from daskdl.evaluation.roc import ROC

R = TypeVar("R", bound=ROC)

CLASS = "org.nd4j.evaluation.classification.ROC"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.ROC"
_WHO = "ROC"
_ROC_CURVE = "org.nd4j.evaluation.curves.RocCurve"
_PR_CURVE = "org.nd4j.evaluation.curves.PrecisionRecallCurve"
# DL4J writes rates that are a last digit above 1.
_ROUNDING = 1e-6


def write(roc: ROC) -> str:
    """Return the text; see :meth:`ROC.to_json`."""
    return dumps(to_fields(roc))


def read(text: str, kind: type[R]) -> R:
    """Return the ROC that a text tells of; see :meth:`ROC.from_json`."""
    return kind.of(of_fields(read_fields(_WHO, text, (CLASS, OLD_CLASS))))


def to_fields(roc: ROC) -> dict[str, Any]:
    """Return the fields of a ROC in DL4J's order, for :func:`dumps`."""
    fields: dict[str, Any] = {
        "@class": CLASS,
        "thresholdSteps": roc.threshold_steps,
        "countActualPositive": roc.count_actual_positive,
        "countActualNegative": roc.count_actual_negative,
        "counts": _counts(*roc.counts()),
    }
    if roc.example_count:
        fields |= {"auc": roc.auc(), "auprc": roc.auprc()}
        if roc.is_exact:
            fields |= {
                "rocCurve": _roc_curve(roc.roc_curve()),
                "prCurve": _precision_recall_curve(roc.precision_recall_curve()),
            }
    return fields | {
        "isExact": roc.is_exact,
        "exampleCount": roc.example_count,
        "rocRemoveRedundantPts": roc.roc_remove_redundant_pts,
    }


def of_fields(fields: Fields) -> StoredRoc:
    """Return the ROC in fields.

    Raises
    ------
    FormatError
        When its values do not go together.
    """
    who = fields.who
    steps = fields.whole("thresholdSteps", most=2**31 - 1)
    n_positive = fields.whole("countActualPositive", most=2**62)
    n_negative = fields.whole("countActualNegative", most=2**62)
    true_positives = false_positives = curves = None
    if steps:
        true_positives, false_positives = _read_counts(fields, steps)
        most = (true_positives.max(initial=0), false_positives.max(initial=0))
        if most[0] > n_positive or most[1] > n_negative:
            raise FormatError(
                f"{who}: counts must be at most {n_positive} true and {n_negative} "
                f"false positives, got {most[0]} and {most[1]}."
            )
    elif n_positive + n_negative:
        curves = Curves(
            _read_roc_curve(fields.child("rocCurve"), who),
            _read_precision_recall_curve(fields.child("prCurve"), who),
        )
        total = curves.precision_recall.total_count
        if total != n_positive + n_negative:
            raise FormatError(
                f"{who}: prCurve must be of {n_positive + n_negative} examples, "
                f"got {total}."
            )
    return StoredRoc(
        steps,
        fields.flag("rocRemoveRedundantPts", default=True),
        n_positive,
        n_negative,
        true_positives,
        false_positives,
        curves,
    )


def _counts(threshold: Row, tp: Counts, fp: Counts) -> dict[str, Any]:
    rows = zip(threshold.tolist(), tp.tolist(), fp.tolist(), strict=True)
    return {
        number_text(at): {
            "threshold": at,
            "countTruePositive": hits,
            "countFalsePositive": misses,
        }
        for at, hits, misses in rows
    }


def _roc_curve(curve: RocCurve) -> dict[str, Any]:
    return {
        "@class": _ROC_CURVE,
        "threshold": curve.threshold.tolist(),
        "fpr": curve.fpr.tolist(),
        "tpr": curve.tpr.tolist(),
        "auc": curve.area(),
    }


def _precision_recall_curve(curve: PrecisionRecallCurve) -> dict[str, Any]:
    return {
        "@class": _PR_CURVE,
        "threshold": curve.threshold.tolist(),
        "precision": curve.precision.tolist(),
        "recall": curve.recall.tolist(),
        "tpCount": curve.tp_count.tolist(),
        "fpCount": curve.fp_count.tolist(),
        "fnCount": curve.fn_count.tolist(),
        "totalCount": curve.total_count,
        "area": curve.area(),
    }


def _read_counts(fields: Fields, steps: int) -> tuple[Counts, Counts]:
    counts = fields.child("counts")
    names = counts.names_here() if counts is not None else []
    # The steps are believed only if the file holds as many.
    if counts is None or len(names) != steps + 1:
        raise FormatError(
            f"{fields.who}: counts must have {steps + 1} thresholds, got {len(names)}."
        )
    found = [_child(counts, name) for name in names]
    thresholds = [entry.number("threshold") for entry in found]
    for i, threshold in enumerate(thresholds):
        if threshold is None or not abs(threshold - i / steps) <= 0.25 / steps:
            raise FormatError(
                f"{fields.who}: threshold {i} of {steps} must be about {i / steps}, "
                f"got {threshold}."
            )
    hits = [entry.whole("countTruePositive") for entry in found]
    misses = [entry.whole("countFalsePositive") for entry in found]
    return np.array(hits, np.int64), np.array(misses, np.int64)


def _read_roc_curve(curve: Fields | None, who: str) -> RocCurve:
    if curve is None:
        raise _without_curve(who, "rocCurve")
    rows = [curve.numbers(name) for name in ("threshold", "fpr", "tpr")]
    _check_sizes(who, "rocCurve", rows)
    _check_rates(who, "rocCurve", rows[1:])
    return RocCurve(*rows)


def _read_precision_recall_curve(
    curve: Fields | None, who: str
) -> PrecisionRecallCurve:
    if curve is None:
        raise _without_curve(who, "prCurve")
    found = PrecisionRecallCurve(
        curve.numbers("threshold"),
        curve.numbers("precision"),
        curve.numbers("recall"),
        _whole_row(curve, "tpCount"),
        _whole_row(curve, "fpCount"),
        _whole_row(curve, "fnCount"),
        curve.whole("totalCount", most=2**62),
    )
    rates = (found.threshold, found.precision, found.recall)
    counts = (found.tp_count, found.fp_count, found.fn_count)
    _check_sizes(who, "prCurve", [*rates, *counts])
    _check_rates(who, "prCurve", rates[1:])
    return found


def _whole_row(curve: Fields, name: str) -> Counts:
    row = curve.wholes(name)
    return np.zeros(0, np.int64) if row is None else row


def _child(fields: Fields, name: str) -> Fields:
    child = fields.child(name)
    if child is None:
        raise FormatError(f"{fields.who}: counts of {name!r} must be an object.")
    return child


def _check_sizes(who: str, name: str, rows: Sequence[Row | Counts]) -> None:
    sizes = {row.size for row in rows}
    if len(sizes) != 1 or sizes == {0}:
        raise FormatError(
            f"{who}: the lists of {name} must have one length, got {sorted(sizes)}."
        )


def _check_rates(who: str, name: str, rows: Sequence[Row]) -> None:
    for row in rows:
        # NaN is the rate of nothing.
        if ((row < -_ROUNDING) | (row > 1 + _ROUNDING)).any():
            raise FormatError(
                f"{who}: the rates of {name} must be from 0 to 1, got "
                f"{row[:5].tolist()}."
            )


def _without_curve(who: str, name: str) -> FormatError:
    return FormatError(f"{who}: {name} of an exact ROC must be an object, got none.")


# By this ROC finds its JSON.
JSON = ClassFile(read, write)
